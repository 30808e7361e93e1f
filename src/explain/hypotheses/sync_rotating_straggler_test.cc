#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/stats.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_sync_rotating_straggler;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_sync_rotating_straggler.test(b.view()); }

// Ranks that take `own(rank, step)` seconds each over `steps` steps; the step ends with the
// slowest.
ViewBuilder job_of(int32_t ranks, int32_t steps,
                   const std::function<double(int32_t rank, int32_t step)>& own) {
  ViewBuilder b(false);
  auto& a = b.attribution();
  a.ranks.steps = static_cast<size_t>(steps);
  std::vector<double> slowest(static_cast<size_t>(steps), 0);
  for (int32_t r = 0; r < ranks; ++r) a.ranks.ranks.push_back(r);
  for (int32_t r = 0; r < ranks; ++r)
    for (int32_t s = 0; s < steps; ++s) {
      const double seconds = own(r, s);
      a.ranks.own_time.push_back(static_cast<Ns>(seconds * 1e9));
      auto& most = slowest[static_cast<size_t>(s)];
      most = std::max(most, seconds);
    }
  for (int32_t s = 0; s < steps; ++s) {
    a.steps.step.push_back(s);
    a.steps.time.push_back(static_cast<Ns>((slowest[static_cast<size_t>(s)] + 0.02) * 1e9));
    a.steps.segment.push_back(SegmentKind::steady);
  }
  return b;
}

// Eight ranks of 0.1034 s own work over 100 steps of 0.22 s; `late` names the rank that takes 0.1 s
// more, or -1.
ViewBuilder job(const std::function<int32_t(int32_t step)>& late) {
  ViewBuilder b =
      job_of(8, 100, [&](int32_t r, int32_t s) { return late(s) == r ? 0.2034 : 0.1034; });
  std::fill(b.attribution().steps.time.begin(), b.attribution().steps.time.end(), 220'000'000);
  return b;
}

TEST(SyncRotatingStraggler, TheLateRankChanges) {
  const auto v = test(job([](int32_t s) { return s % 3 == 0 ? (s * 5) % 8 : -1; }));
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_GE(v.llr, 3);
  EXPECT_NEAR(v.effect->seconds_per_step, 0.034, 1e-6);
}

TEST(SyncRotatingStraggler, OneLateRankIsAPersistentOne) {
  const auto v = test(job([](int32_t s) { return s % 3 == 0 ? 5 : -1; }));
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_THAT(v.reason, testing::HasSubstr("rank 5"));
}

TEST(SyncRotatingStraggler, StepsThatAreSlowForAllWaitForNoOneRank) {
  Random random(7);
  const auto v = test(job_of(4, 300, [&](int32_t, int32_t s) {
    return 0.3 * std::exp(0.02 * random.normal()) +
           (s % 4 == 0 ? 0.24 * std::exp(0.3 * random.normal()) : 0);
  }));
  EXPECT_EQ(v.outcome, Outcome::refuted);
}

TEST(SyncRotatingStraggler, RanksThatOnlyTellWholeStepsOfEqualLengthHideWhoIsLate) {
  ViewBuilder b = job_of(4, 300, [](int32_t, int32_t s) { return s % 37 == 5 ? 0.9 : 0.3; });
  b.attribution().level = EvidenceLevel::steps;
  EXPECT_EQ(test(b).outcome, Outcome::refuted);  // no step is slow that could have waited
  b.attribution().outliers.resize(8);
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

TEST(SyncRotatingStraggler, PausesBeyondATailOfTheNoiseAreFound) {
  for (const bool stalls : {false, true})
    for (const int32_t ranks : {4, 8}) {
      Random random(11);
      std::vector<int32_t> late;
      for (int s = 0; s < 300; ++s)
        late.push_back(random.uniform() < 0.1
                           ? static_cast<int32_t>(random.below(static_cast<size_t>(ranks)))
                           : -1);
      const auto v = test(job_of(ranks, 300, [&](int32_t r, int32_t s) {
        return 0.3 * (0.9 - 0.1 * std::log(1 - random.uniform())) +
               (stalls && late[static_cast<size_t>(s)] == r ? 1.2 : 0);
      }));
      EXPECT_EQ(v.outcome, stalls ? Outcome::supported : Outcome::refuted) << ranks << v.reason;
    }
}

TEST(SyncRotatingStraggler, AFewMoreStallsOfOneOfFewRanksAreChance) {
  const auto v = test(job([](int32_t s) { return s % 4 != 0 ? -1 : s < 56 ? 5 : (s / 4) % 4; }));
  EXPECT_EQ(v.outcome, Outcome::refuted);  // fourteen of 25 among eight: no chance
  const auto four = test(job_of(4, 100, [](int32_t r, int32_t s) {
    const int32_t late = s % 8 != 0 ? -1 : s < 56 ? 1 : (s / 8) % 4;
    return late == r ? 0.2034 : 0.1034;
  }));
  EXPECT_EQ(four.outcome, Outcome::supported) << four.reason;
}

TEST(SyncRotatingStraggler, AFewLateStepsCostNothing) {
  EXPECT_EQ(test(job([](int32_t s) { return s % 40 == 0 ? s % 8 : -1; })).outcome,
            Outcome::refuted);
}

TEST(SyncRotatingStraggler, OneOfIndependentNoisyRanksIsAlwaysTheSlowest) {
  for (const int32_t ranks : {2, 4, 8, 64})
    for (const double noise : {0.02, 0.1, 0.2, 0.3})
      for (const double grid : {1e-9, 0.01, 0.1}) {
        Random random(static_cast<uint64_t>(ranks));
        const auto v = test(job_of(ranks, 300, [&](int32_t, int32_t) {
          return std::round(0.35 * std::exp(noise * random.normal()) / grid) * grid;
        }));
        EXPECT_EQ(v.outcome, Outcome::refuted) << ranks << " ranks " << noise << " grid " << grid;
      }
  Random random(1);
  EXPECT_THAT(
      test(
          job_of(4, 300, [&](int32_t, int32_t) { return 0.35 * std::exp(0.15 * random.normal()); }))
          .reason,
      testing::HasSubstr("none of them stalls"));
}

TEST(SyncRotatingStraggler, LongTailsWithoutAGapAreNoise) {
  Random random(3);
  const auto student3 = [&] {
    const double a = random.normal(), b = random.normal(), c = random.normal();
    return random.normal() / std::sqrt((a * a + b * b + c * c) / 3);
  };
  EXPECT_EQ(
      test(job_of(64, 300, [&](int32_t, int32_t) { return 0.35 * std::exp(0.05 * student3()); }))
          .outcome,
      Outcome::refuted);
}

TEST(SyncRotatingStraggler, PausesOfOneRankAtATimeAreFoundInNoise) {
  for (const int32_t ranks : {2, 4, 8, 64})
    for (const double noise : {0.01, 0.05, 0.1}) {
      // Of two ranks each is the other's only measure: a pause spreads both.
      if (ranks == 2 && noise > 0.05) continue;
      Random random(static_cast<uint64_t>(ranks));
      std::vector<int32_t> late;
      for (int s = 0; s < 300; ++s)
        late.push_back(random.uniform() < 0.3
                           ? static_cast<int32_t>(random.below(static_cast<size_t>(ranks)))
                           : -1);
      const auto v = test(job_of(ranks, 300, [&](int32_t r, int32_t s) {
        return 0.35 * std::exp(noise * random.normal()) +
               (late[static_cast<size_t>(s)] == r ? 0.35 : 0);
      }));
      EXPECT_EQ(v.outcome, Outcome::supported) << ranks << " " << noise << ": " << v.reason;
      EXPECT_NEAR(v.effect ? v.effect->seconds_per_step : 0, 0.3 * 0.35, 0.04);
    }
}

TEST(SyncRotatingStraggler, InAPipelineTheLastToArriveIsNotTheSlowOne) {
  auto b = job([](int32_t s) { return s % 3 == 0 ? (s * 5) % 8 : -1; });
  b.attribution().what_if = WhatIf{};
  b.attribution().what_if->by_stage = {1, 1};
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

TEST(SyncRotatingStraggler, WithoutOwnTimesItIsUntested) {
  EXPECT_EQ(test(ViewBuilder(false)).outcome, Outcome::untested);
}

TEST(SyncRotatingStraggler, StallsThatBeganMidwayAreCountedFromThere) {
  const auto v = test(job([](int32_t s) { return s >= 70 && s % 3 == 1 ? (s * 5) % 8 : -1; }));
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  ASSERT_TRUE(v.since);
  EXPECT_EQ(v.since->step, 70);
  EXPECT_NEAR(v.effect->seconds_per_step, 0.1 / 3, 1e-3) << "not spread over the steps before";
}

}  // namespace
}  // namespace firstwait
