#include "explain/change_signals.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"dataset_change events",
                                       "dataset.* settings read before and after the onset"};

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
    .accounts_for = kChangePhases,
    .needs = kNeeds,
    .thresholds = kChangeThresholds,
    .checklist_step = 4,
    .prior = 0,
    .test = test};

}  // namespace firstwait
