#include "collect/ethtool_names.h"

namespace firstwait {
namespace {

struct Row {
  std::string_view name;
  EthtoolKind kind;
};
// mlx5, mlx4, ice, i40e, ixgbe, bnxt_en, ena, igb, e1000e, gve, hns3, virtio.
constexpr Row kRows[] = {{"rx_pause_ctrl_phy", EthtoolKind::pause_received},
                         {"tx_pause_ctrl_phy", EthtoolKind::pause_sent},
                         {"rx_pause", EthtoolKind::pause_received},
                         {"tx_pause", EthtoolKind::pause_sent},
                         {"rx_pause_frames", EthtoolKind::pause_received},
                         {"tx_pause_frames", EthtoolKind::pause_sent},
                         {"link_xoff_rx.nic", EthtoolKind::pause_received},
                         {"link_xoff_tx.nic", EthtoolKind::pause_sent},
                         {"port.link_xoff_rx", EthtoolKind::pause_received},
                         {"port.link_xoff_tx", EthtoolKind::pause_sent},
                         {"rx_flow_control_xoff", EthtoolKind::pause_received},
                         {"tx_flow_control_xoff", EthtoolKind::pause_sent},
                         {"rx_discards_phy", EthtoolKind::received_drops},
                         {"rx_out_of_buffer", EthtoolKind::received_drops},
                         {"rx_missed_errors", EthtoolKind::received_drops},
                         {"rx_no_dma_resources", EthtoolKind::received_drops},
                         {"rx_dropped.nic", EthtoolKind::received_drops},
                         {"port.rx_dropped", EthtoolKind::received_drops},
                         {"rx_steer_missed_packets", EthtoolKind::received_drops},
                         {"rx_total_discard_pkts", EthtoolKind::received_drops},
                         {"rx_drops", EthtoolKind::received_drops},
                         {"rx_overruns", EthtoolKind::received_drops},
                         {"tx_discards_phy", EthtoolKind::sent_drops},
                         {"tx_total_discard_pkts", EthtoolKind::sent_drops},
                         {"tx_drops", EthtoolKind::sent_drops},
                         {"tx_dropped_link_down.nic", EthtoolKind::sent_drops},
                         {"rx_crc_errors_phy", EthtoolKind::errors},
                         {"rx_crc_errors", EthtoolKind::errors},
                         {"rx_crc_errors.nic", EthtoolKind::errors},
                         {"rx_symbol_err_phy", EthtoolKind::errors},
                         {"tx_errors_phy", EthtoolKind::errors},
                         {"link_down_events_phy", EthtoolKind::errors}};

// Of EFA and ENA: what the provider's own limits held back.
constexpr std::string_view kAllowance = "_allowance_exceeded";

bool digit(char c) { return c >= '0' && c <= '7'; }

}  // namespace

EthtoolMeaning ethtool_meaning(std::string_view name) {
  for (const Row& row : kRows)
    if (row.name == name)
      return {row.kind,
              {},
              row.kind == EthtoolKind::pause_received || row.kind == EthtoolKind::pause_sent
                  ? std::string_view()
                  : name};
  // "rx_prio3_pause" (mlx5), "rx_priority_3_xoff.nic" (ice), "port.rx_priority_3_xoff" (i40e),
  // "rx_pfc_ena_frames_pri3" (bnxt)
  const bool sent = name.find("tx_") != std::string_view::npos;
  const auto kind = sent ? EthtoolKind::priority_pause_sent : EthtoolKind::priority_pause_received;
  for (const std::string_view before : {"_prio", "_priority_", "_pfc_ena_frames_pri"}) {
    const size_t at = name.find(before);
    const size_t number = at + before.size();
    if (at == std::string_view::npos || number >= name.size() || !digit(name[number])) continue;
    const std::string_view rest = name.substr(number + 1);
    if (rest == "_pause" || rest.starts_with("_xoff") ||
        (before == "_pfc_ena_frames_pri" && rest.empty()))
      return {kind, name.substr(number, 1), {}};
  }
  if (name.ends_with(kAllowance))
    return {name.starts_with("bw_in") ? EthtoolKind::received_drops : EthtoolKind::sent_drops,
            {},
            name};
  return {};
}

}  // namespace firstwait
