#include "attribute/onset.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/stats.h"

namespace firstwait {
namespace {

std::vector<double> noisy(size_t n, double noise, double (*level)(size_t), uint64_t seed = 11) {
  Random random(seed);
  std::vector<double> v;
  for (size_t i = 0; i < n; ++i) v.push_back(level(i) * std::exp(noise * random.normal()));
  return v;
}

TEST(Onset, FindsTheFourthOfFiveEvaluationBlocks) {
  const Changes c = find_changes({59.5, 59.7, 62.1, 135, 139});
  ASSERT_EQ(c.changes.size(), 1U);
  EXPECT_EQ(c.changes[0].at, 3U);
  EXPECT_EQ(explaining_change(c), 0U);
  EXPECT_NEAR(c.stretches[1].level / c.stretches[0].level, 2.29, 0.02);
}

TEST(Onset, TakesNoSingleSlowEpochForAChange) {
  EXPECT_TRUE(find_changes({112.88, 112.89, 112.87, 112.88, 174.06}).changes.empty());
  EXPECT_TRUE(find_changes({}).stretches.empty());
  EXPECT_EQ(find_changes({5}).stretches.size(), 1U);
}

TEST(Onset, FindsTheStepWithAnIntervalThatHoldsIt) {
  const Changes c = find_changes(noisy(1240, 0.05, [](size_t i) { return i < 412 ? 0.12 : 0.16; }));
  ASSERT_EQ(c.changes.size(), 1U);
  EXPECT_LE(c.changes[0].lo, 412U);
  EXPECT_GE(c.changes[0].hi, 411U);
  EXPECT_LE(c.changes[0].hi - c.changes[0].lo, 10U);
}

TEST(Onset, IsFoundAmongAHundredThousandSteps) {
  const Changes c =
      find_changes(noisy(100'000, 0.05, [](size_t i) { return i < 73'211 ? 1.0 : 1.3; }));
  ASSERT_EQ(c.changes.size(), 1U);
  EXPECT_NEAR(static_cast<double>(c.changes[0].at), 73'211, 5);
}

TEST(Onset, DoesNotFireOnNoisePeriodOrOutliers) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_TRUE(find_changes(noisy(
                                 300, 0.2, [](size_t) { return 1.0; }, seed))
                    .changes.empty())
        << seed;
    EXPECT_TRUE(find_changes(noisy(
                                 40, 0.1, [](size_t) { return 1.0; }, seed))
                    .changes.empty())
        << seed;
    EXPECT_TRUE(find_changes(noisy(
                                 500, 0.02, [](size_t i) { return i % 10 == 3 ? 6.0 : 1.0; }, seed))
                    .changes.empty());
    EXPECT_TRUE(
        find_changes(noisy(
                         500, 0.02, [](size_t i) { return i % 97 == 3 ? 40.0 : 1.0; }, seed))
            .changes.empty());
  }
}

TEST(Onset, BelowTheMinimumEffectNothingIsSaid) {
  EXPECT_TRUE(find_changes(noisy(1000, 0.01, [](size_t i) {
                return i < 500 ? 1.0 : 1.05;
              })).changes.empty());
}

TEST(Onset, ASlowPeriodThatEndedIsAnEpisodeAndExplainsNothingNow) {
  const Changes c =
      find_changes(noisy(1000, 0.05, [](size_t i) { return i >= 300 && i < 360 ? 2.5 : 1.0; }));
  EXPECT_FALSE(explaining_change(c).has_value());
  const auto episodes = past_episodes(c);
  ASSERT_EQ(episodes.size(), 1U);
  EXPECT_EQ(episodes[0].first, 300U);
  EXPECT_EQ(episodes[0].last, 359U);
}

TEST(Onset, OfTwoRisesTheLargerExplains) {
  const Changes c = find_changes(noisy(900, 0.02, [](size_t i) {
    return i < 300 ? 1.0 : i < 600 ? 1.2 : 3.0;
  }));
  ASSERT_EQ(c.changes.size(), 2U);
  EXPECT_EQ(explaining_change(c), 1U);
}

TEST(Drift, IsALineAndNotAStaircase) {
  const auto v =
      noisy(1000, 0.04, [](size_t i) { return 1 + 0.8 * static_cast<double>(i) / 1000; });
  const Drift drift = find_drift(v);
  EXPECT_TRUE(drift.found);
  EXPECT_NEAR(drift.ratio, 1.8, 0.1);
  EXPECT_LT(drift.misfit, misfit(v, find_changes(v)));
  const auto step = noisy(1000, 0.04, [](size_t i) { return i < 500 ? 1.0 : 1.8; });
  EXPECT_GT(find_drift(step).misfit, misfit(step, find_changes(step)));
  EXPECT_FALSE(find_drift(noisy(1000, 0.1, [](size_t) { return 1.0; })).found);
}

}  // namespace
}  // namespace firstwait
