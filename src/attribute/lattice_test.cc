#include "attribute/lattice.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/stats.h"

namespace firstwait {
namespace {

std::vector<int32_t> range(int32_t n) {
  std::vector<int32_t> v;
  for (int32_t i = 0; i < n; ++i) v.push_back(i);
  return v;
}

TEST(Lattice, FindsTheFundamentalAndNotAMultipleOrDivisor) {
  std::vector<int32_t> marked;
  for (int32_t i = 7; i < 1000; i += 10) marked.push_back(i);
  const auto l = find_lattice(range(1000), marked);
  ASSERT_TRUE(l.has_value());
  EXPECT_EQ(l->period, 10);
  EXPECT_EQ(l->phase, 7);
  EXPECT_EQ(l->hits, 100U);
}

TEST(Lattice, SurvivesMissingStepsAndMissedMarks) {
  Random random(5);
  std::vector<int32_t> points, marked;
  for (int32_t i = 0; i < 2000; ++i) {
    if (random.uniform() < 0.1) continue;
    points.push_back(i);
    if (i % 25 == 3 && random.uniform() < 0.8) marked.push_back(i);
  }
  const auto l = find_lattice(points, marked);
  ASSERT_TRUE(l.has_value());
  EXPECT_EQ(l->period, 25);
}

TEST(Lattice, RandomMarksLieOnNone) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    std::vector<int32_t> marked;
    for (int32_t i = 0; i < 1700; ++i)
      if (random.uniform() < 0.01) marked.push_back(i);
    EXPECT_FALSE(find_lattice(range(1700), marked).has_value()) << seed;
  }
}

TEST(Lattice, EverySecondStepIsADensePeriod) {
  Random random(5);
  std::vector<double> logs, noise;
  for (int i = 0; i < 400; ++i) {
    logs.push_back((i % 2 == 1 ? 0.69 : 0) + 0.03 * random.normal());
    noise.push_back(0.3 * random.normal());
  }
  const auto l = find_dense_period(range(400), logs);
  ASSERT_TRUE(l.has_value());
  EXPECT_EQ(l->period, 2);
  EXPECT_EQ(l->phase, 1);
  EXPECT_FALSE(find_dense_period(range(400), noise).has_value());
}

TEST(Rhythm, ReadsTheClockThroughJitterAndRefusesChance) {
  Random random(9);
  std::vector<double> times, chance;
  for (int i = 0; i < 12; ++i)
    if (i != 5) times.push_back(60.0 * i + random.uniform());
  const auto r = find_rhythm(times);
  ASSERT_TRUE(r.has_value());
  EXPECT_NEAR(r->period, 60, 0.5);
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Random other(seed);
    chance.clear();
    for (double t = 0; chance.size() < 12; t += -60 * std::log(1 - other.uniform()))
      chance.push_back(t);
    EXPECT_FALSE(find_rhythm(chance).has_value()) << seed;
  }
}

}  // namespace
}  // namespace firstwait
