#include "attribute/lingering.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace firstwait {
namespace {

double z_of_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  const double n = static_cast<double>(values.size());
  return sum / n / std::sqrt(long_run_variance(values) / n);
}

std::vector<double> autoregressive(double keeps, size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> out;
  double x = 0;
  for (size_t i = 0; i < n; ++i) out.push_back(x = keeps * x + normal(random));
  return out;
}

TEST(Lingering, OfIndependentValuesItIsTheVariance) {
  EXPECT_NEAR(long_run_variance(autoregressive(0, 4000, 1)), 1, 0.15);
}

TEST(Lingering, OfAnAutoregressionItIsTheSpectrumAtZero) {
  const double v = long_run_variance(autoregressive(0.9, 20'000, 2));  // 1 / (1 - 0.9)^2
  EXPECT_GT(v, 70);
  EXPECT_LT(v, 130);
}

TEST(Lingering, AShiftOfIndependentValuesStandsOutAndOneOfLingeringNoiseDoesNot) {
  auto quick = autoregressive(0, 300, 3), slow = autoregressive(0.9, 300, 3);
  for (double& v : quick) v += 1;
  for (double& v : slow) v += 1;
  EXPECT_GT(z_of_mean(quick), z_needed(300));
  EXPECT_LT(std::abs(z_of_mean(slow)), z_needed(300));
}

TEST(Lingering, ConstantsAndSingleValuesOverflowNothing) {
  EXPECT_EQ(long_run_variance(std::vector<double>(50, 2.0)), 0);
  EXPECT_TRUE(std::isnan(long_run_variance(std::vector<double>{1.0})));
  EXPECT_GT(z_of_mean(std::vector<double>(50, 2.0)), z_needed(1'000'000));
}

}  // namespace
}  // namespace firstwait
