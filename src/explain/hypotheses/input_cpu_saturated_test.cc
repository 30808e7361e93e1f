#include <gtest/gtest.h>

#include <optional>

#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_input_cpu_saturated;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_input_cpu_saturated.test(b.view()); }

ViewBuilder waiting() {
  ViewBuilder b;
  b.phase(Phase::input_wait, 0.4, 0.02).phase(Phase::backward, 0.1, 0.1);
  b.rank(0, "a").setting("host/a", "cpu.count", "8");
  return b;
}

TEST(InputCpuSaturated, FullAllowanceSupports) {
  auto b = waiting();
  b.counter("firstwait_process_cpu_seconds_total", "host/a", 3, 7.8, {{"role", "loader"}});
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.where.front(), "host/a");
}

TEST(InputCpuSaturated, UnusedAllowanceRefutesWithItsNumber) {
  auto b = waiting();
  b.counter("node_cpu_seconds_total", "host/a", 2, 2.5, {{"mode", "user"}});
  const auto v = test(b);
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_EQ(v.reason, "31.2 % of 8 allowed CPUs in use");
}

TEST(InputCpuSaturated, HostOfUnknownUsersIsWeakerThanOwnProcesses) {
  auto own = waiting(), host = waiting();
  own.counter("firstwait_process_cpu_seconds_total", "host/a", 3, 7.8, {{"role", "loader"}});
  host.counter("node_cpu_seconds_total", "host/a", 3, 7.8, {{"mode", "user"}});
  EXPECT_LT(test(host).llr, test(own).llr);
}

TEST(InputCpuSaturated, FullBeforeAsWellDoesNotExplainTheOnset) {
  auto b = waiting();
  b.counter("firstwait_process_cpu_seconds_total", "host/a", 7.8, 7.8, {{"role", "loader"}});
  EXPECT_LE(test(b).llr, 2);
}

TEST(InputCpuSaturated, NoWaitNoAccusation) {
  ViewBuilder b;
  b.phase(Phase::input_wait, 0.02, 0.02).phase(Phase::backward, 0.4, 0.1).rank(0, "a");
  b.setting("host/a", "cpu.count", "8")
      .counter("node_cpu_seconds_total", "host/a", 2, 7.9, {{"mode", "user"}});
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

// Metrics alone: 7.8 of 8 CPUs of the host are busy, the GPUs as much as told.
Verdict full_host(std::optional<double> gpu_percent) {
  ViewBuilder b(false);
  b.setting("host/a", "cpu.count", "8");
  b.counter("node_cpu_seconds_total", "host/a", 7.8, 7.8, {{"mode", "user"}});
  if (gpu_percent) b.gauge("DCGM_FI_DEV_GPU_UTIL", "gpu/a:0", *gpu_percent, *gpu_percent);
  return test(b);
}

TEST(InputCpuSaturated, AFullHostNeedsAVictim) {
  EXPECT_EQ(full_host(20).outcome, Outcome::supported);
  EXPECT_EQ(full_host(80).outcome, Outcome::untested);
  EXPECT_EQ(full_host(98).outcome, Outcome::refuted);
  EXPECT_EQ(full_host(98).reason, "the GPUs are in use 98 % of the time");
  EXPECT_EQ(full_host(std::nullopt).outcome, Outcome::untested);
}

TEST(InputCpuSaturated, UntestedWithoutCpuTimes) {
  EXPECT_EQ(test(waiting()).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
