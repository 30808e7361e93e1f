#include "collect/ethtool_names.h"
#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_ethtool;
namespace {

TEST(Ethtool, DriversNamesOfPausesAndDropsAreUnderstood) {
  EXPECT_EQ(ethtool_meaning("rx_pause_ctrl_phy").kind, EthtoolKind::pause_received);
  EXPECT_EQ(ethtool_meaning("port.link_xoff_tx").kind, EthtoolKind::pause_sent);
  const auto mlx5 = ethtool_meaning("rx_prio3_pause");
  EXPECT_EQ(mlx5.kind, EthtoolKind::priority_pause_received);
  EXPECT_EQ(mlx5.priority, "3");
  EXPECT_EQ(ethtool_meaning("tx_priority_5_xoff.nic").kind, EthtoolKind::priority_pause_sent);
  EXPECT_EQ(ethtool_meaning("rx_pfc_ena_frames_pri7").priority, "7");
  EXPECT_EQ(ethtool_meaning("rx_discards_phy").counter, "rx_discards_phy");
  EXPECT_EQ(ethtool_meaning("bw_in_allowance_exceeded").kind, EthtoolKind::received_drops);
  for (const char* other : {"", "rx_packets", "rx_prio3_bytes", "rx_prio9_pause", "_prio",
                            "rx_prio", "rx_prio3_pause_duration"})
    EXPECT_EQ(ethtool_meaning(other).kind, EthtoolKind::none) << other;
}

TEST(Ethtool, TheCardsOfThisMachineAreAskedWithoutHarm) {
  Bench bench(collector_ethtool, World{});
  bench.sample();
  EXPECT_NE(bench.presence(), Presence::broken);
}

}  // namespace
}  // namespace firstwait
