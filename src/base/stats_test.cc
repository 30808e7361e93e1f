#include "base/stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace firstwait {
namespace {

TEST(Stats, MedianIgnoresNanAndAveragesTheMiddle) {
  EXPECT_DOUBLE_EQ(median({3, 1, NAN, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_EQ(median_int({5, 1, 9, 7}), 5);
}

TEST(Stats, TheMiddleMeanSeesWhatAlternatesAndNotWhatHappenedOnce) {
  std::vector<double> values;
  for (int i = 0; i < 20; ++i) values.push_back(i % 2 == 0 ? 90 : 2);
  EXPECT_DOUBLE_EQ(middle_mean(values), 46);
  values.assign(20, 5);
  values[7] = 22000;
  EXPECT_DOUBLE_EQ(middle_mean(values), 5);
  EXPECT_DOUBLE_EQ(middle_mean({1, 2, 100}), 2);
  EXPECT_TRUE(std::isnan(middle_mean({})));
}

TEST(Stats, QuantileInterpolates) {
  EXPECT_DOUBLE_EQ(quantile({1, 2, 3, 4}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({1, 2, 3, 4}, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile({1, 2, 3, 4}, 1), 4);
}

TEST(Stats, ScaleNeverFallsBelowOnePerCentOfTheMedian) {
  const Robust r = robust({100, 100, 100, 100, 130});
  EXPECT_DOUBLE_EQ(r.scale, 1);
  EXPECT_DOUBLE_EQ(r.z(130), 30);
  EXPECT_DOUBLE_EQ(robust({0, 0, 0}).z(0), 0);
  EXPECT_NEAR(robust({80, 90, 100, 110, 120}).scale, 14.826, 1e-9);
}

TEST(Stats, TheilSenFindsTheSlopeDespiteOutliers) {
  std::vector<double> x, y;
  for (int i = 0; i < 5000; ++i) {
    x.push_back(i);
    y.push_back(3 + 0.25 * i + (i % 7 == 0 ? 1e4 : 0));
  }
  EXPECT_NEAR(theil_sen(x, y).slope, 0.25, 1e-6);
  EXPECT_EQ(theil_sen({1, 1}, {2, 3}).slope, 0);
}

TEST(Stats, MannKendallKnowsATrendFromNoise) {
  Random random(7);
  std::vector<double> noise, trend;
  for (int i = 0; i < 200; ++i) {
    noise.push_back(random.normal());
    trend.push_back(random.normal() + 0.02 * i);
  }
  EXPECT_GT(mann_kendall_p(noise), 0.01);
  EXPECT_LT(mann_kendall_p(trend), 1e-6);
  EXPECT_EQ(mann_kendall_p({5, 5, 5, 5}), 1);
}

TEST(Stats, RankSumIsExactForSmallSamples) {
  EXPECT_NEAR(rank_sum_p({1, 2, 3}, {4, 5}), 0.2, 1e-12);  // 2 / C(5,2)
  EXPECT_NEAR(rank_sum_p({1, 2, 3, 4}, {5, 6, 7, 8}), 2.0 / 70, 1e-12);
  EXPECT_NEAR(rank_sum_p({1, 3, 5}, {2, 4, 6}), 0.7, 1e-12);  // U = 3, tabulated
  EXPECT_EQ(rank_sum_p({1, 1, 1}, {1, 1}), 1);
}

TEST(Stats, RankSumKnowsHowRareItIsThatAFewStandApartFromMany) {
  std::vector<double> few, many;
  for (int i = 0; i < 7; ++i) few.push_back(1000 + i);
  for (int i = 0; i < 274; ++i) many.push_back(i);
  // 2 / C(281, 7), where the normal approximation says 6e-6.
  EXPECT_NEAR(rank_sum_p(few, many) / (2 / 2.54568e13), 1, 0.02);
  EXPECT_NEAR(rank_sum_p(many, few), rank_sum_p(few, many), 1e-20);
  few.back() = 100.5;  // one of them in the middle
  EXPECT_LT(rank_sum_p(few, many), 1e-4);
  EXPECT_GT(rank_sum_p(few, many), 1e-7);
}

TEST(Stats, RankSumKeepsItsLevel) {
  Random random(5);
  int below = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<double> few, many;
    for (int k = 0; k < 6; ++k) few.push_back(std::floor(20 * random.normal()));  // with ties
    for (int k = 0; k < 60; ++k) many.push_back(std::floor(20 * random.normal()));
    below += rank_sum_p(few, many) < 0.01 ? 1 : 0;
  }
  EXPECT_LT(below, 20'000 * 0.013);
}

TEST(Stats, TailsMatchTables) {
  EXPECT_NEAR(binomial_tail(10, 8, 0.5), 56.0 / 1024, 1e-12);
  EXPECT_EQ(binomial_tail(10, 0, 0.5), 1);
  EXPECT_NEAR(hypergeometric_tail(10, 4, 4, 4), 1.0 / 210, 1e-12);
  EXPECT_NEAR(student_two_sided(2.776445, 4), 0.05, 1e-6);
  EXPECT_NEAR(chi_squared_tail(3.841459, 1), 0.05, 1e-6);
  EXPECT_NEAR(f_tail(4.964603, 1, 10), 0.05, 1e-6);
  EXPECT_EQ(student_two_sided(std::numeric_limits<double>::infinity(), 3), 0);
}

TEST(Stats, BootstrapIntervalHoldsTheRatioAndIsTheSameEachTime) {
  Random random(3);
  std::vector<double> a, b;
  for (int i = 0; i < 300; ++i) {
    a.push_back(100 + random.normal());
    b.push_back(220 + random.normal());
  }
  const auto [lo, hi] = bootstrap_ratio(a, b);
  EXPECT_LT(lo, 2.2);
  EXPECT_GT(hi, 2.2);
  EXPECT_LT(hi - lo, 0.02);
  EXPECT_EQ(bootstrap_ratio(a, b), (std::pair{lo, hi}));
  EXPECT_TRUE(std::isnan(bootstrap_ratio({1}, b).first));
}

TEST(Stats, RunningMedianRemovesASpikeAndKeepsAnEdge) {
  EXPECT_EQ(running_median({1, 1, 9, 1, 1, 5, 5, 5}, 3),
            (std::vector<double>{1, 1, 1, 1, 1, 5, 5, 5}));
}

TEST(Stats, WithoutOneIsRobustOfTheOthers) {
  Random random(3);
  for (size_t n = 1; n < 40; ++n) {
    std::vector<double> values;
    for (size_t i = 0; i < n; ++i)
      values.push_back(n % 3 == 0 ? static_cast<double>(random.below(4)) : random.normal());
    values.push_back(std::numeric_limits<double>::quiet_NaN());
    const WithoutOne sample(values);
    EXPECT_EQ(sample.size(), n);
    for (size_t i = 0; i <= n; ++i) {
      std::vector<double> others = values;
      others.erase(others.begin() + static_cast<ptrdiff_t>(i));
      const Robust expected = robust(others), got = sample.without(values[i]);
      EXPECT_EQ(got.n, expected.n);
      if (expected.n == 0) continue;
      EXPECT_EQ(got.median, expected.median) << n << " " << i;
      EXPECT_EQ(got.scale, expected.scale) << n << " " << i;
    }
  }
}

}  // namespace
}  // namespace firstwait
