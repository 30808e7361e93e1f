#include "explain/change_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::input_wait, Phase::h2d,       Phase::forward,
                                      Phase::backward,   Phase::optimizer, Phase::collective,
                                      Phase::p2p,        Phase::host,      Phase::unexplained};
constexpr std::string_view kNeeds[] = {"dataset_change events",
                                       "dataset.* settings read before and after the onset"};
constexpr Threshold kCoincidence{
    "distance from the onset", 60, "s",
    "the usual scrape interval; wider when the onset itself is known less well"};
constexpr Threshold kThresholds[] = {kCoincidence};

Verdict test(const View& view) {
  return test_change(view, {.events = {"dataset_change"},
                            .settings = {"dataset."},
                            .direct = {Phase::input_wait},
                            .noun = "the data set"});
}

}  // namespace

extern const Hypothesis hypothesis_change_dataset{
    .id = "change.dataset",
    .claim = "the data set or its place changed at the onset",
    .decides = "dataset events, dataset.* settings before and after",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 4,
    .prior = 0,
    .test = test};

}  // namespace firstwait
