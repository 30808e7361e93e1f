#include "base/series.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/stats.h"

namespace firstwait {
namespace {

// First-order autoregression around 1.
std::vector<double> autoregression(uint64_t seed, size_t n, double coefficient) {
  Random random(seed);
  std::vector<double> out;
  double x = 0;
  for (size_t i = 0; i < 200 + n; ++i) {
    x = coefficient * x + 0.02 * random.normal();
    if (i >= 200) out.push_back(1 + x);
  }
  return out;
}

double usual_worth(size_t n, double coefficient) {
  std::vector<double> worth;
  for (uint64_t seed = 0; seed < 41; ++seed)
    worth.push_back(independent_values(autoregression(seed, n, coefficient)));
  return median(worth);
}

// n (1 - r) / (1 + r) of a first-order autoregression.
TEST(Series, NeighboursThatResembleEachOtherAreWorthFewerValues) {
  EXPECT_NEAR(usual_worth(2000, 0), 2000, 100);
  EXPECT_NEAR(usual_worth(2000, 0.5), 2000 / 3.0, 60);
  EXPECT_NEAR(usual_worth(2000, 0.9), 2000 / 19.0, 16);
  EXPECT_NEAR(usual_worth(400, 0.9), 400 / 19.0, 8);
}

TEST(Series, ShortOrConstantSeriesCountAsTheyAre) {
  EXPECT_EQ(independent_values({1, 2, 3, 4, 5, 6}), 6);
  EXPECT_EQ(independent_values(std::vector<double>(50, 2.0)), 50);
}

TEST(Series, TheErrorOfTheMeanIsTheTextbookOneForIndependentValues) {
  const Estimate e = mean_of_series({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_DOUBLE_EQ(e.value, 5);
  EXPECT_NEAR(e.error, std::sqrt(32.0 / 7 / 8), 1e-12);
}

TEST(Series, TheMedianDoesNotFollowOneOutlier) {
  std::vector<double> v;
  Random random(5);
  for (int i = 0; i < 200; ++i) v.push_back(1 + 0.05 * random.normal());
  v[100] = 1000;
  const Estimate e = median_of_series(v);
  EXPECT_NEAR(e.value, 1, 0.02);
  // Of a normal sample: 1.2533 sigma / sqrt(n).
  EXPECT_NEAR(e.error, 1.2533 * 0.05 / std::sqrt(200), 0.002);
}

// Welch 1947: t = 0.2 / sqrt(0.0025 + 0.0025) with 8 degrees of freedom.
TEST(Series, TheIntervalAndTheProbabilityAreOneTest) {
  const RatioTest r =
      compare_estimates({std::exp(0.2), 0.05 * std::exp(0.2), 5, 4}, {1, 0.05, 5, 4});
  EXPECT_NEAR(r.p, 0.02217, 1e-4);
  EXPECT_NEAR(std::log(r.low), 0.2 - 2.30600 * std::sqrt(0.005), 1e-5);
  EXPECT_NEAR(std::log(r.high), 0.2 + 2.30600 * std::sqrt(0.005), 1e-5);
  for (double shift = 0; shift < 0.4; shift += 0.01) {
    const RatioTest s =
        compare_estimates({std::exp(shift), 0.05 * std::exp(shift), 5, 4}, {1, 0.05, 5, 4});
    EXPECT_EQ(s.p<0.05, s.low> 1);
  }
}

TEST(Series, OneProcessRarelyDiffersFromItself) {
  for (const double coefficient : {0.0, 0.5, 0.9}) {
    int differs = 0;
    for (uint64_t seed = 0; seed < 400; ++seed)
      differs += compare_estimates(mean_of_series(autoregression(2 * seed, 400, coefficient)),
                                   mean_of_series(autoregression(2 * seed + 1, 400, coefficient)))
                             .p < 0.05
                     ? 1
                     : 0;
    EXPECT_LE(differs, 400 / 12) << coefficient;
  }
}

TEST(Series, NothingIsSaidOfOneValue) {
  EXPECT_TRUE(std::isnan(compare_estimates(mean_of_series({1}), mean_of_series({1, 2})).p));
}

}  // namespace
}  // namespace firstwait
