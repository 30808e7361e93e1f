#include "explain/change_signals.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"resource_change events",
                                       "allowances read before and after the onset"};

Verdict test(const View& view) {
  return test_change(view, {.events = {"resource_change"},
                            .settings = {"cpu.", "slurm.cpus_per_task", "world_size",
                                         "memory.limit", "gpu.clocks_limit"},
                            .direct = {Phase::input_wait, Phase::host},
                            .noun = "the granted resources"});
}

}  // namespace

extern const Hypothesis hypothesis_change_resources{
    .id = "change.resources",
    .claim = "the resources granted to the job changed at the onset",
    .decides = "resource events, allowances before and after",
    .accounts_for = kChangePhases,
    .needs = kNeeds,
    .thresholds = kChangeThresholds,
    .checklist_step = 7,
    .prior = 0,
    .test = test};

}  // namespace firstwait
