#include <gtest/gtest.h>

#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_input_memory_pressure;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_input_memory_pressure.test(b.view()); }

ViewBuilder waiting() {
  ViewBuilder b;
  b.phase(Phase::input_wait, 0.4, 0.02).phase(Phase::backward, 0.1, 0.1);
  return b;
}

TEST(InputMemoryPressure, StallsAndSwapThatBeganWithTheWait) {
  auto b = waiting();
  b.counter("node_pressure_memory_waiting_seconds_total", "host/a", 0, 0.4)
      .counter("node_vmstat_pswpin", "host/a", 0, 900);
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_GE(v.llr, 5);
}

TEST(InputMemoryPressure, MajorFaultsOfMappedFilesAreNotPressure) {
  auto b = waiting();
  b.counter("node_pressure_memory_waiting_seconds_total", "host/a", 0, 0)
      .counter("node_vmstat_pgmajfault", "host/a", 1, 5000);
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(InputMemoryPressure, FaultsAloneDecideNothing) {
  auto b = waiting();
  b.counter("node_vmstat_pgmajfault", "host/a", 1, 5000);
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

TEST(InputMemoryPressure, PressureAsBeforeIsWeak) {
  auto b = waiting();
  b.counter("node_pressure_memory_waiting_seconds_total", "host/a", 0.4, 0.4);
  EXPECT_LE(test(b).llr, 1);
}

// The mapped data set was in memory until a limit came; the kernel's own pressure stays low.
ViewBuilder limited(double limit_before) {
  auto b = waiting();
  b.counter("node_pressure_memory_waiting_seconds_total", "host/a", 0, 0.006);
  b.gauge("firstwait_cgroup_memory_limit_bytes", "rank/0", limit_before, 28e6);
  b.gauge("firstwait_cgroup_memory_usage_bytes", "rank/0", 130e6, 27.9e6);
  b.counter("firstwait_process_major_faults_total", "rank/0", 2, 300, {{"role", "loader"}});
  return b;
}

TEST(InputMemoryPressure, AMemoryLimitThatCameAndPagesReadAgain) {
  const auto v = test(limited(512e6));
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_EQ(v.where.front(), "rank/0");
  EXPECT_EQ(v.because,
            "a memory limit of 28 MB on rank/0 is full, and 300 pages a second are read again");
}

TEST(InputMemoryPressure, ALimitThatWasAlwaysFullOfCacheIsNoCause) {
  EXPECT_EQ(test(limited(28e6)).outcome, Outcome::refuted);
}

}  // namespace
}  // namespace firstwait
