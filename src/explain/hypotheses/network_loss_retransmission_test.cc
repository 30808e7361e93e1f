#include <gtest/gtest.h>

#include "explain/placing.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_network_loss_retransmission;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_network_loss_retransmission.test(b.view()); }

ViewBuilder tcp(double before, double now) {
  ViewBuilder b;
  b.phase(Phase::collective, 0.5, 0.1).phase(Phase::forward, 0.1, 0.1);
  b.counter("node_netstat_Tcp_RetransSegs", "host/a", before, now);
  b.counter("node_netstat_Tcp_OutSegs", "host/a", 10000, 10000);
  return b;
}

TEST(NetworkLoss, RetransmissionsThatRoseAreAccused) {
  const auto v = test(tcp(0.1, 100));
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_GT(v.llr, kStrong);
  EXPECT_EQ(v.where.front(), "host/a");
  EXPECT_EQ(v.because, "a sends 1 % of its TCP segments again");
  ASSERT_TRUE(v.effect);
  EXPECT_NEAR(v.effect->interval.hi, 0.4, 1e-9);
}

TEST(NetworkLoss, TheUsualLossIsRefutedWithTheNumber) {
  const auto v = test(tcp(0.5, 0.5));
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_EQ(v.reason, "0.005 % of TCP segments are sent again, up to 0.1 % is normal");
}

TEST(NetworkLoss, LossAsBeforeExplainsNoChange) {
  EXPECT_LT(test(tcp(100, 100)).llr, test(tcp(0.1, 100)).llr - 3);
}

TEST(NetworkLoss, WaitingForALateRankContradicts) {
  auto b = tcp(0.1, 100);
  b.attribution().collective_wait_s = 0.45;
  b.attribution().collective_transfer_s = 0.05;
  EXPECT_LT(test(b).llr, test(tcp(0.1, 100)).llr - 1.5);
}

TEST(NetworkLoss, TcpCannotClearAnRdmaJob) {
  auto b = tcp(0.5, 0.5);
  b.setting("job/x", "nccl.transport", "NET/IB");
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

TEST(NetworkLoss, AckTimeoutsOfAnRdmaPortAreAccused) {
  ViewBuilder b;
  b.phase(Phase::collective, 0.5, 0.1);
  b.counter("firstwait_rdma_local_ack_timeout_total", "host/a", 0, 2,
            {{"device", "mlx5_0"}, {"port", "1"}});
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.where.front(), "nic/a:mlx5_0");
}

TEST(NetworkLoss, LossWithoutSlowerCommunicationIsNotTheCause) {
  ViewBuilder b;
  b.phase(Phase::forward, 0.5, 0.1).phase(Phase::collective, 0.01, 0.01);
  b.counter("node_netstat_Tcp_RetransSegs", "host/a", 0, 100)
      .counter("node_netstat_Tcp_OutSegs", "host/a", 1e4, 1e4);
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(NetworkLoss, RanksOnOneHostReduceOverNoNetwork) {
  auto b = tcp(0.1, 100);
  b.rank(0, "a").rank(1, "a");
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
  b.setting("job/x", "dataset.fstype", "ext4");
  const auto v = test(b);
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_EQ(v.reason, "all ranks are on one host and the data set on its own disk");
}

TEST(NetworkLoss, OneHostThatReadsOverTheNetworkMayBeHeldUpByLoss) {
  ViewBuilder b;
  b.phase(Phase::input_wait, 0.5, 0.1).rank(0, "a").setting("job/x", "dataset.fstype", "nfs4");
  b.counter("node_netstat_Tcp_RetransSegs", "host/a", 0.1, 100)
      .counter("node_netstat_Tcp_OutSegs", "host/a", 10000, 10000);
  EXPECT_EQ(test(b).outcome, Outcome::supported);
}

TEST(NetworkLoss, LongCollectivesAloneSayNothing) {
  ViewBuilder b;
  EXPECT_EQ(test(b.phase(Phase::collective, 0.5, 0.1)).outcome, Outcome::untested);
}

TEST(NetworkLoss, OfAJobThatTalksToItsOwnHostOnlyLossOutsideIsNotTheCause) {
  auto b = tcp(0.1, 100);
  b.gauge("firstwait_tcp_connections", "host/a", 8, 8, {{"peer", "127.0.0.1"}});
  const auto v = test(b);
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_EQ(v.reason, "the job's connections stay on its host");
  b.gauge("firstwait_tcp_connections", "host/a", 2, 2, {{"peer", "10.0.0.7"}});
  EXPECT_EQ(test(b).outcome, Outcome::supported);
}

TEST(NetworkLoss, SegmentsThatNeverLeaveTheHostAreNotLostOnAWire) {
  auto b = tcp(0, 20);
  EXPECT_EQ(test(b).outcome, Outcome::supported);
  b.counter("node_network_transmit_packets_total", "nic/a:lo", 10000, 10000);
  b.counter("node_network_transmit_packets_total", "nic/a:eth0", 2, 2);
  const auto v = test(b);
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_EQ(v.reason, "of 10000 segments a second its cards send 2 packets: they stay on the host");
}

TEST(NetworkLoss, SegmentsInLargePacketsDoLeaveTheHost) {
  auto b = tcp(0.1, 100);
  b.counter("node_network_transmit_packets_total", "nic/a:eth0", 300, 300);
  EXPECT_EQ(test(b).outcome, Outcome::supported);
}

TEST(NetworkLoss, AHandfulOfSegmentsCannotCostAllOfTheStep) {
  ViewBuilder b;
  b.phase(Phase::input_wait, 2, 0).phase(Phase::forward, 0.1, 0.1);
  b.counter("node_netstat_Tcp_RetransSegs", "host/a", 0, 0.6);
  b.counter("node_netstat_Tcp_OutSegs", "host/a", 130, 130);
  EXPECT_LT(test(b).llr, 1) << "one a step, and each waits for a second at most";
}

}  // namespace
}  // namespace firstwait
