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

}  // namespace
}  // namespace firstwait
