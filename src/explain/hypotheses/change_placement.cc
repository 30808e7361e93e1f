#include "explain/change_signals.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"placement events with times"};

Verdict test(const View& view) {
  return test_change(view, {.events = {"placement"},
                            .settings = {"slurm.nodelist", "placement."},
                            .direct = {Phase::collective, Phase::p2p, Phase::input_wait},
                            .noun = "the placement"});
}

}  // namespace

extern const Hypothesis hypothesis_change_placement{
    .id = "change.placement",
    .claim = "the job was placed elsewhere at the onset",
    .decides = "placement events at the onset",
    .accounts_for = kChangePhases,
    .needs = kNeeds,
    .thresholds = kChangeThresholds,
    .checklist_step = 7,
    .prior = 0,
    .test = test};

}  // namespace firstwait
