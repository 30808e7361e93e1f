#include "explain/change_signals.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"software_change events",
                                       "versions read before and after the onset"};

Verdict test(const View& view) {
  return test_change(view, {.events = {"software_change"},
                            .settings = {"torch.version", "nccl.version", "cuda.version",
                                         "driver.version", "kernel.version", "firmware."},
                            .direct = {Phase::forward, Phase::backward, Phase::optimizer,
                                       Phase::collective, Phase::compile},
                            .noun = "the software"});
}

}  // namespace

extern const Hypothesis hypothesis_change_software{
    .id = "change.software",
    .claim = "software changed at the onset",
    .decides = "software events, versions before and after",
    .accounts_for = kChangePhases,
    .needs = kNeeds,
    .thresholds = kChangeThresholds,
    .checklist_step = 1,
    .prior = 0,
    .test = test};

}  // namespace firstwait
