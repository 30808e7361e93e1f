#include <gtest/gtest.h>

#include "explain/placing.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_network_wrong_transport;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_network_wrong_transport.test(b.view()); }

ViewBuilder job(const char* second_host = "b") {
  ViewBuilder b(false);
  b.phase(Phase::collective, 0.8, 0)
      .phase(Phase::forward, 0.1, 0)
      .rank(0, "a")
      .rank(1, second_host);
  return b;
}

TEST(NetworkWrongTransport, SocketsWithInfinibandDisabledAreAccused) {
  auto b = job();
  b.setting("rank/0", "nccl.transport", "NET/Socket").setting("rank/0", "env.NCCL_IB_DISABLE", "1");
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_GT(v.llr, kStrong);
  EXPECT_EQ(v.because, "NCCL uses NET/Socket between hosts (NCCL_IB_DISABLE=1)");
}

TEST(NetworkWrongTransport, SocketsBesideIdleRdmaPortsAreAccused) {
  auto b = job();
  b.setting("job/x", "nccl.network", "Socket")
      .gauge("node_infiniband_rate_bytes_per_second", "host/a", 25e9, 25e9);
  EXPECT_GT(test(b).llr, kStrong);
}

TEST(NetworkWrongTransport, AllRanksThatUseSocketsAreNamedAndManyByTheirHosts) {
  auto b = job();
  b.setting("rank/0", "nccl.transport", "NET/Socket")
      .setting("rank/1", "nccl.transport", "NET/Socket");
  EXPECT_EQ(test(b).where, (std::vector<std::string>{"rank/0", "rank/1", "host/a", "host/b"}));
  for (int r = 2; r < 16; ++r)
    b.rank(r, r < 8 ? "a" : "b")
        .setting("rank/" + std::to_string(r), "nccl.transport", "NET/Socket");
  EXPECT_EQ(test(b).where, (std::vector<std::string>{"host/a", "host/b"}));
}

TEST(NetworkWrongTransport, SocketsAlthoughNcclListsRdmaPortsAreAccused) {
  auto b = job();
  b.setting("host/a", "nccl.interfaces", "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE ; OOB ib0:10.1.2.3<0>")
      .setting("host/a", "nccl.network", "IB")
      .setting("rank/0", "nccl.transport", "NET/Socket,P2P");
  EXPECT_GT(test(b).llr, kStrong);
  auto only_ethernet = job();
  only_ethernet.setting("host/a", "nccl.interfaces", "[0]eth0:10.1.2.3<0>")
      .setting("rank/0", "nccl.transport", "NET/Socket,P2P");
  EXPECT_LE(test(only_ethernet).llr, kWeak + kWeak);
}

TEST(NetworkWrongTransport, TheOneThatFellBackWhileOthersUseRdmaIsNamed) {
  auto b = job();
  b.setting("rank/0", "nccl.transport", "NET/IB/GDRDMA,P2P")
      .setting("rank/1", "nccl.transport", "NET/Socket,P2P");
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_GT(v.llr, kStrong);
  EXPECT_EQ(v.where, (std::vector<std::string>{"rank/1", "host/b"}));
  EXPECT_EQ(v.because, "NCCL uses NET/Socket between hosts");
}

TEST(NetworkWrongTransport, AllRanksWithoutGpuDirectAreNamed) {
  auto b = job();
  b.setting("rank/0", "nccl.transport", "NET/IB")
      .setting("rank/0", "nccl.gdr", "0")
      .setting("rank/1", "nccl.transport", "NET/IB/GDRDMA")
      .setting("rank/1", "nccl.gdr", "1");
  EXPECT_EQ(test(b).where, (std::vector<std::string>{"rank/0", "host/a"}));
  b.setting("rank/1", "nccl.gdr", "0");
  EXPECT_EQ(test(b).where, (std::vector<std::string>{"rank/0", "rank/1", "host/a", "host/b"}));
}

TEST(NetworkWrongTransport, SocketsWhereNothingBetterIsKnownAreLessSure) {
  auto without = job(), with = job();
  for (auto* b : {&without, &with}) b->setting("rank/0", "nccl.transport", "NET/Socket");
  with.setting("rank/0", "env.NCCL_IB_DISABLE", "1");
  EXPECT_LE(test(without).llr, kWeak + kWeak);
  EXPECT_GT(test(with).llr, kStrong);
}

TEST(NetworkWrongTransport, MissingGpuDirectIsAccused) {
  auto b = job();
  b.setting("job/x", "nccl.transport", "NET/IB").setting("job/x", "nccl.gdr", "0");
  ASSERT_EQ(test(b).outcome, Outcome::supported);
  EXPECT_EQ(test(b).because, "NCCL uses RDMA without GPUDirect: data goes through host memory");
}

TEST(NetworkWrongTransport, RdmaWithGpuDirectIsRefuted) {
  auto b = job();
  b.setting("job/x", "nccl.transport", "NET/IB/GDRDMA").setting("job/x", "nccl.gdr", "1");
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(NetworkWrongTransport, OneHostNeedsNoNetwork) {
  auto b = job("a");
  b.setting("rank/0", "env.NCCL_IB_DISABLE", "1");
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(NetworkWrongTransport, ANetworkThatNoChannelUsesIsNoMatter) {
  ViewBuilder b(false);
  b.phase(Phase::collective, 0.8, 0);
  b.setting("host/a", "nccl.network", "Socket").setting("rank/0", "nccl.transport", "P2P,SHM");
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(NetworkWrongTransport, TheSwitchSetToZeroSaysNothing) {
  auto b = job();
  EXPECT_EQ(test(b.setting("rank/0", "env.NCCL_IB_DISABLE", "0")).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
