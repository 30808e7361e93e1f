#include <gtest/gtest.h>

#include "explain/placing.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_node_physical;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_node_physical.test(b.view()); }

ViewBuilder job() {
  ViewBuilder b;
  b.phase(Phase::forward, 0.5, 0.1).rank(0, "a").rank(1, "b");
  return b;
}

TEST(NodePhysical, AStoppedFanIsAccused) {
  const auto v = test(job().gauge("node_hwmon_fan_rpm", "host/a", 9000, 0, {{"sensor", "fan3"}}));
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.because, "on a fan fan3 has stopped, it turned at 9000 rpm");
}

TEST(NodePhysical, AFanThatNeverTurnedIsAnEmptySocket) {
  EXPECT_EQ(test(job().gauge("node_hwmon_fan_rpm", "host/a", 0, 0, {{"sensor", "fan3"}})).outcome,
            Outcome::refuted);
}

TEST(NodePhysical, UncorrectableMemoryErrorsAreAccused) {
  EXPECT_EQ(test(job().counter("node_edac_uncorrectable_errors_total", "host/a", 0, 0.1)).outcome,
            Outcome::supported);
}

TEST(NodePhysical, AFaultOfAnotherMachineIsNoMatter) {
  EXPECT_EQ(test(job().gauge("node_hwmon_fan_rpm", "host/z", 9000, 0)).outcome, Outcome::refuted);
}

TEST(NodePhysical, TheSlowRankElsewhereContradicts) {
  auto b = job();
  b.gauge("node_hwmon_fan_rpm", "host/a", 9000, 0);
  const double alone = test(b).llr;
  b.attribution().rank_stats.push_back({.rank = 1, .ratio_to_peers = 1.5});
  EXPECT_LT(test(b).llr, alone - 3);
}

TEST(NodePhysical, NotWatchedIsUntested) { EXPECT_EQ(test(job()).outcome, Outcome::untested); }

}  // namespace
}  // namespace firstwait
