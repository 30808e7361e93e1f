#include <gtest/gtest.h>

#include "explain/placing.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_network_topology_mismatch;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_network_topology_mismatch.test(b.view()); }

ViewBuilder job() {
  ViewBuilder b(false);
  b.phase(Phase::collective, 0.5, 0).rank(0, "a").rank(1, "a");
  return b;
}

TEST(NetworkTopologyMismatch, OneRankWithAFarNicIsAccused) {
  auto b = job();
  b.setting("rank/0", "numa.gpu", "0")
      .setting("rank/0", "numa.nic", "0")
      .setting("rank/1", "numa.gpu", "1")
      .setting("rank/1", "numa.nic", "0");
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.where.front(), "rank/1");
}

TEST(NetworkTopologyMismatch, TheManagementInterfaceChosenByNameIsAccused) {
  auto b = job();
  b.setting("rank/0", "env.NCCL_SOCKET_IFNAME", "=eth0")
      .setting("nic/a:eth0", "nic.speed", "1")
      .setting("nic/a:eth1", "nic.speed", "100");
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.because, "NCCL_SOCKET_IFNAME chooses a:eth0, a:eth1 is 100 times as fast");
}

TEST(NetworkTopologyMismatch, NearNicsAreRefuted) {
  auto b = job();
  b.setting("rank/0", "numa.gpu", "0").setting("rank/0", "numa.nic", "0");
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(NetworkTopologyMismatch, AnExcludedInterfaceIsNoChoice) {
  EXPECT_EQ(test(job().setting("rank/0", "env.NCCL_SOCKET_IFNAME", "^docker0")).outcome,
            Outcome::untested);
}

}  // namespace
}  // namespace firstwait
