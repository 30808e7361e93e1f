#include "explain/change_signals.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"config_change events",
                                       "settings read before and after the onset"};

Verdict test(const View& view) {
  return test_change(view, {.events = {"config_change"},
                            .settings = {"loader.", "env.", "nccl.transport", "nccl.gdr",
                                         "mount.options", "batch", "nic.mtu"},
                            .direct = {Phase::input_wait, Phase::h2d, Phase::collective, Phase::p2p,
                                       Phase::host, Phase::forward, Phase::backward},
                            .noun = "the configuration"});
}

}  // namespace

extern const Hypothesis hypothesis_change_config{
    .id = "change.config",
    .claim = "a setting changed at the onset",
    .decides = "configuration events, settings before and after",
    .accounts_for = kChangePhases,
    .needs = kNeeds,
    .thresholds = kChangeThresholds,
    .checklist_step = 1,
    .prior = 0,
    .test = test};

}  // namespace firstwait
