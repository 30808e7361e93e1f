#include <gtest/gtest.h>

#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_input_memory_bandwidth;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_input_memory_bandwidth.test(b.view()); }

ViewBuilder waiting() {
  ViewBuilder b(false);
  b.phase(Phase::input_wait, 0.4, 0).phase(Phase::backward, 0.1, 0);
  return b;
}

TEST(InputMemoryBandwidth, RemotePagesAreModerateEvidence) {
  auto b = waiting();
  b.counter("node_memory_numa_other_node_total", "host/a", 900, 900)
      .counter("node_memory_numa_local_node_total", "host/a", 100, 100);
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_LT(v.llr, 2);
}

TEST(InputMemoryBandwidth, LocalPagesRefute) {
  auto b = waiting();
  b.counter("node_memory_numa_other_node_total", "host/a", 1, 1)
      .counter("node_memory_numa_local_node_total", "host/a", 999, 999);
  const auto v = test(b);
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_EQ(v.reason, "0.10 % of new pages are remote");
}

TEST(InputMemoryBandwidth, MeasuredBandwidthAtItsPeakIsStrong) {
  auto b = waiting();
  b.counter("firstwait_memory_bytes_total", "host/a", 90e9, 90e9)
      .setting("host/a", "memory.bandwidth_bytes_per_second", "100000000000");
  EXPECT_GE(test(b).llr, 3);
}

TEST(InputMemoryBandwidth, UntestedWithoutCounters) {
  const auto v = test(waiting());
  EXPECT_EQ(v.outcome, Outcome::untested);
  EXPECT_FALSE(v.needs.empty());
}

}  // namespace
}  // namespace firstwait
