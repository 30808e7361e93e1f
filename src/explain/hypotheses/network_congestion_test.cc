#include <gtest/gtest.h>

#include "explain/placing.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_network_congestion;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_network_congestion.test(b.view()); }

ViewBuilder pauses(double before, double now) {
  ViewBuilder b;
  b.phase(Phase::collective, 0.5, 0.1);
  b.counter("firstwait_ethtool_pause_received_total", "host/a", before, now, {{"device", "eth0"}});
  return b;
}

TEST(NetworkCongestion, PausesThatRoseAreAccused) {
  const auto v = test(pauses(1, 500));
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.where.front(), "nic/a:eth0");
}

TEST(NetworkCongestion, FurtherSignalsAddUp) {
  auto b = pauses(1, 500);
  b.counter("firstwait_rdma_cnp_handled_total", "host/a", 1, 500, {{"device", "mlx5_0"}})
      .gauge("firstwait_tcp_rtt_seconds", "host/a", 1e-4, 9e-4);
  EXPECT_GT(test(b).llr, test(pauses(1, 500)).llr + 3);
}

TEST(NetworkCongestion, SignalsAsBeforeAreRefuted) {
  EXPECT_EQ(test(pauses(500, 500)).outcome, Outcome::refuted);
}

TEST(NetworkCongestion, AlmostAlwaysNonZeroCountersNeedAPast) {
  ViewBuilder b(false);
  b.phase(Phase::collective, 0.5, 0)
      .counter("node_infiniband_port_transmit_wait_total", "host/a", 1e6, 1e6,
               {{"device", "mlx5_0"}});
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

TEST(NetworkCongestion, WaitingForALateRankContradicts) {
  auto b = pauses(1, 500);
  b.attribution().collective_wait_s = 0.45;
  b.attribution().collective_transfer_s = 0.05;
  EXPECT_NE(test(b).outcome, Outcome::supported);
}

TEST(NetworkCongestion, LongCollectivesAloneSayNothing) {
  ViewBuilder b;
  EXPECT_EQ(test(b.phase(Phase::collective, 0.5, 0.1)).outcome, Outcome::untested);
}

TEST(NetworkCongestion, ARateLimitThatWasPutOnAPort) {
  ViewBuilder b;
  b.phase(Phase::collective, 0.4, 0.05);
  b.counter("node_network_transmit_bytes_total", "host/a", 5e7, 1.2e7, {{"device", "eth0"}})
      .counter("node_qdisc_overlimits_total", "host/a", kNaN, 900,
               {{"device", "eth0"}, {"kind", "tbf"}});
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_EQ(v.where.front(), "nic/a:eth0");
}

TEST(NetworkCongestion, RanksOnOneHostWithLocalDataWaitForNoNetwork) {
  ViewBuilder b;
  b.phase(Phase::collective, 0.4, 0.05).rank(0, "a").rank(1, "a");
  b.setting("job/x", "dataset.fstype", "ext4");
  b.counter("node_qdisc_drops_total", "host/a", 1, 100, {{"device", "eth0"}});
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

}  // namespace
}  // namespace firstwait
