#include "explain/action_table.h"

namespace firstwait {
namespace {
constexpr std::string_view kPlacementSameSwitch[] = {
    "network.oversubscribed_uplink", "network.congestion", "network.traffic_imbalance",
    "change.placement"};
constexpr std::string_view kPlacementRebindNic[] = {"network.topology_mismatch",
                                                    "network.traffic_imbalance"};
constexpr std::string_view kNodeDrain[] = {"network.link_errors", "network.link_flap",
                                           "network.link_degraded", "node.physical",
                                           "node.cpu_clock"};
constexpr std::string_view kPlacementSwapHost[] = {"sync.straggler", "sync.missing_rank",
                                                   "network.loss_retransmission",
                                                   "storage.client_degraded"};
constexpr std::string_view kNodeMatchConfig[] = {"node.config_mismatch"};
constexpr std::string_view kPlacementBalanceStages[] = {"sync.stage_imbalance"};
constexpr std::string_view kPlacementBalanceSequences[] = {"sync.sequence_imbalance"};
constexpr std::string_view kPlacementBalanceExperts[] = {"sync.expert_imbalance"};
constexpr ActionRow kRows[] = {
    {"placement.same_switch", "Place the ranks under one switch", kPlacementSameSwitch,
     GainModel::excess, "May wait longer in the queue"},
    {"placement.rebind_nic", "Bind each GPU to its nearest network port", kPlacementRebindNic,
     GainModel::none, "Check the numbering after each reboot"},
    {"node.drain", "Drain the node and have its hardware checked", kNodeDrain, GainModel::excess,
     "Restart from the last good checkpoint"},
    {"placement.swap_host",
     "Run the ranks of this host on another one: what stays behind is the host's, what moves along "
     "is the work's",
     kPlacementSwapHost, GainModel::excess, "Restart from the last good checkpoint"},
    {"node.match_config", "Bring the node to the configuration of its peers", kNodeMatchConfig,
     GainModel::excess, "Reboot and firmware changes need a maintenance window"},
    {"placement.balance_stages", "Move layers so that the stages take the same time",
     kPlacementBalanceStages, GainModel::replay, "Memory per stage changes with the layers"},
    {"placement.balance_sequences", "Balance the token counts over ranks and microbatches",
     kPlacementBalanceSequences, GainModel::replay, "Changes which samples share a batch"},
    {"placement.balance_experts", "Balance the experts (capacity factor, auxiliary loss)",
     kPlacementBalanceExperts, GainModel::none, "May change convergence"},
};
}  // namespace
extern const ActionTable action_table_placement{"placement", kRows};
}  // namespace firstwait
