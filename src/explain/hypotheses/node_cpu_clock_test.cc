#include <gtest/gtest.h>

#include "explain/placing.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_node_cpu_clock;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_node_cpu_clock.test(b.view()); }

ViewBuilder cpu(double before, double now, double used = 0.6) {
  ViewBuilder b;
  b.phase(Phase::input_wait, 0.5, 0.1)
      .gauge("node_cpu_scaling_frequency_hertz", "host/a", before, now);
  b.counter("node_cpu_seconds_total", "host/a", used, used, {{"cpu", "0"}, {"mode", "user"}});
  b.counter("node_cpu_seconds_total", "host/a", 1 - used, 1 - used,
            {{"cpu", "0"}, {"mode", "idle"}});
  return b;
}

TEST(NodeCpuClock, AFrequencyThatFellUnderLoadIsAccused) {
  const auto v = test(cpu(3e9, 1.2e9));
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.because, "the CPUs of a run at 1.2 instead of 3 GHz");
  EXPECT_NEAR(v.effect->interval.hi, 0.3, 1e-9);
}

TEST(NodeCpuClock, IdleCpusAreSlowOnPurpose) {
  EXPECT_EQ(test(cpu(3e9, 1.2e9, 0.02)).outcome, Outcome::untested);
}

TEST(NodeCpuClock, ASteadyFrequencyIsRefuted) {
  EXPECT_EQ(test(cpu(3e9, 2.95e9)).outcome, Outcome::refuted);
}

TEST(NodeCpuClock, ThrottlingByHeatAddsUp) {
  auto b = cpu(3e9, 1.2e9);
  b.counter("node_cpu_core_throttles_total", "host/a", 0, 3);
  EXPECT_GT(test(b).llr, test(cpu(3e9, 1.2e9)).llr + 1.5);
}

}  // namespace
}  // namespace firstwait
