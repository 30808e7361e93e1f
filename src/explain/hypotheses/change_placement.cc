#include "explain/change_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::input_wait, Phase::h2d,       Phase::forward,
                                      Phase::backward,   Phase::optimizer, Phase::collective,
                                      Phase::p2p,        Phase::host,      Phase::unexplained};
constexpr std::string_view kNeeds[] = {"placement events with times"};
constexpr Threshold kCoincidence{
    "distance from the onset", 60, "s",
    "the usual scrape interval; wider when the onset itself is known less well"};
constexpr Threshold kThresholds[] = {kCoincidence};

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
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 7,
    .prior = 0,
    .test = test};

}  // namespace firstwait
