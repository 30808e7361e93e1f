#include <gtest/gtest.h>

#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_workload_checkpoint_growth;
namespace {

Verdict saves(const std::vector<double>& seconds) {
  ViewBuilder b(false);
  for (size_t i = 0; i < seconds.size(); ++i) {
    b.event("checkpoint", "job/j", static_cast<double>(i) * 60);
    auto& e = b.evidence().events.back();
    e.end = e.start + static_cast<Ns>(seconds[i] * 1e9);
  }
  return hypothesis_workload_checkpoint_growth.test(b.view());
}

TEST(WorkloadCheckpointGrowth, EachSaveTakesLonger) {
  const auto v = saves({10, 12, 13.5, 16, 18, 21, 22, 25});
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_GE(v.llr, 3);
}

TEST(WorkloadCheckpointGrowth, OneSlowSaveIsNoTrend) {
  EXPECT_EQ(saves({10, 10.2, 9.9, 60, 10.1, 9.8, 10}).outcome, Outcome::refuted);
}

TEST(WorkloadCheckpointGrowth, SteadyTrendOfAPercentIsNotWorthAnAccusation) {
  EXPECT_EQ(saves({10, 10.01, 10.02, 10.03, 10.04, 10.05, 10.06}).outcome, Outcome::refuted);
}

TEST(WorkloadCheckpointGrowth, FewSavesAreUntested) {
  EXPECT_EQ(saves({10, 20, 30}).outcome, Outcome::untested);
  EXPECT_EQ(saves({}).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
