#include <gtest/gtest.h>

#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_input_cpu_entitlement;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_input_cpu_entitlement.test(b.view()); }

ViewBuilder waiting() {
  ViewBuilder b(false);
  b.phase(Phase::input_wait, 0.4, 0).phase(Phase::backward, 0.1, 0);
  b.rank(0, "a").setting("host/a", "cpu.count", "8").setting("job/j", "loader.num_workers", "8");
  return b;
}

TEST(InputCpuEntitlement, OneCoreForAllWorkersWhileTheHostIdles) {
  auto b = waiting();
  b.setting("rank/0", "cpu.affinity", "3")
      .counter("node_cpu_seconds_total", "host/a", 1, 1, {{"mode", "user"}});
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_GE(v.llr, 5);
  EXPECT_EQ(v.because, "cpu.affinity = 3 confines rank/0 to 1 of 8 CPUs");
}

TEST(InputCpuEntitlement, FullHostIsNotAnEntitlement) {
  auto b = waiting();
  b.setting("rank/0", "cpu.affinity", "3")
      .counter("node_cpu_seconds_total", "host/a", 7.9, 7.9, {{"mode", "user"}});
  EXPECT_NE(test(b).outcome, Outcome::supported);
}

TEST(InputCpuEntitlement, RanksThatShareOneMaskFillItTogether) {
  ViewBuilder b(false);
  b.phase(Phase::input_wait, 0.4, 0).phase(Phase::backward, 0.1, 0);
  b.setting("host/a", "cpu.count", "8").setting("job/j", "loader.num_workers", "4");
  for (int r = 0; r < 4; ++r) {
    const std::string rank = std::to_string(r);
    b.rank(r, "a").setting("rank/" + rank, "cpu.affinity", "0");
    b.counter("firstwait_process_cpu_seconds_total", "host/a", 0.25, 0.25,
              {{"rank", rank}, {"role", "loader"}});
  }
  b.counter("node_cpu_seconds_total", "host/a", 1.2, 1.2, {{"mode", "user"}});
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_GE(v.llr, 5);
}

TEST(InputCpuEntitlement, AllCpusAllowedRefutes) {
  auto b = waiting();
  const auto v = test(b);
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_EQ(v.reason, "all 8 CPUs of the host are allowed");
}

TEST(InputCpuEntitlement, WideMaskThatIsNotUsedRefutes) {
  auto b = waiting();
  b.setting("host/a", "cpu.cpuset", "0-3");
  b.counter("firstwait_process_cpu_seconds_total", "host/a", 0.5, 0.5, {{"role", "loader"}});
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(InputCpuEntitlement, ThrottlingSupports) {
  ViewBuilder b(false);
  b.phase(Phase::input_wait, 0.4, 0).phase(Phase::backward, 0.1, 0);
  b.counter("firstwait_cgroup_cpu_throttled_seconds_total", "host/a", 0.7, 0.7);
  EXPECT_EQ(test(b).outcome, Outcome::supported);
}

TEST(InputCpuEntitlement, OldAllowanceIsNoOnset) {
  ViewBuilder b;
  b.phase(Phase::input_wait, 0.4, 0.02).phase(Phase::backward, 0.1, 0.1).rank(0, "a");
  b.setting("host/a", "cpu.count", "8").setting("job/j", "loader.num_workers", "3");
  b.setting("rank/0", "cpu.affinity", "0-1");
  EXPECT_LE(test(b).llr, 1);
}

TEST(InputCpuEntitlement, UntestedWithoutSettings) {
  ViewBuilder b(false);
  b.phase(Phase::input_wait, 0.4, 0).phase(Phase::backward, 0.1, 0);
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

// A quota that holds the training thread: forward and backward take longer, input does not.
TEST(InputCpuEntitlement, AQuotaOnTheTrainersOwnControlGroupExplainsAllOfTheStep) {
  ViewBuilder b;
  b.phase(Phase::input_wait, 0.001, 0.001)
      .phase(Phase::forward, 0.08, 0.02)
      .phase(Phase::backward, 0.09, 0.03);
  b.rank(0, "a").rank(1, "a").setting("host/a", "cpu.count", "2");
  b.gauge("firstwait_cgroup_cpu_quota_cores", "rank/1", 0.2, 0.2);
  b.counter("firstwait_cgroup_cpu_throttled_seconds_total", "rank/1", 0, 0.6);
  b.counter("firstwait_cgroup_cpu_throttled_seconds_total", "rank/0", 0, 0);
  b.counter("firstwait_process_cpu_seconds_total", "rank/1", 0.3, 0.2, {{"role", "trainer"}});
  b.counter("node_cpu_seconds_total", "host/a", 0.5, 0.4, {{"mode", "user"}});
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_EQ(v.where.front(), "rank/1");
  EXPECT_NEAR(v.effect->seconds_per_step, 0.12, 1e-9);
}

TEST(InputCpuEntitlement, ThrottledWorkersThatNobodyWaitsForAreNoCause) {
  ViewBuilder b(false);
  b.phase(Phase::input_wait, 0.001, 0)
      .phase(Phase::forward, 0.08, 0)
      .phase(Phase::backward, 0.1, 0);
  b.rank(0, "a").setting("host/a", "cpu.count", "2");
  b.gauge("firstwait_cgroup_cpu_quota_cores", "rank/0", 0.5, 0.5);
  b.counter("firstwait_cgroup_cpu_throttled_seconds_total", "rank/0", 0.3, 0.3);
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

}  // namespace
}  // namespace firstwait
