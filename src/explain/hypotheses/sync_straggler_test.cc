#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/stats.h"
#include "explain/testing/op_view.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_sync_straggler;
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

Verdict test(const View& v) { return hypothesis_sync_straggler.test(v); }

double one_slow(int32_t dp, int32_t stage, int32_t batch, int32_t step, bool backward) {
  return even(dp, stage, batch, step, backward) * (dp == 1 && stage == 0 ? 2 : 1);
}

TEST(SyncStraggler, NamesTheOneSlowWorkerOfAPipeline) {
  const OpView job(3, 2, one_slow);
  const auto v = test(job.view());
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_THAT(v.where, ElementsAre("worker/dp1-stage0", "rank/110"));
  EXPECT_GE(v.llr, 5);
  ASSERT_TRUE(v.effect.has_value());
  EXPECT_GT(v.effect->seconds_per_step, 0.3);
  EXPECT_LE(v.effect->interval.lo, v.effect->seconds_per_step);
}

TEST(SyncStraggler, AnEvenPipelineHasNone) {
  const OpView job(3, 2, even);
  const auto v = test(job.view());
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_THAT(v.reason, HasSubstr("without stragglers"));
}

TEST(SyncStraggler, ASlowStageIsNotASlowWorker) {
  const OpView job(3, 4, [](int32_t d, int32_t s, int32_t b, int32_t n, bool back) {
    return even(d, s, b, n, back) * (s == 3 ? 1.6 : 1);
  });
  EXPECT_EQ(test(job.view()).outcome, Outcome::refuted);
}

TEST(SyncStraggler, AWorkerThatIsSlowInAFewStepsIsNotPersistent) {
  const OpView job(3, 1, [](int32_t d, int32_t s, int32_t b, int32_t n, bool back) {
    return even(d, s, b, n, back) * (d == 1 && n == 3 ? 4 : 1);
  });
  const auto v = test(job.view());
  EXPECT_NE(v.outcome, Outcome::supported);
}

TEST(SyncStraggler, AReplayThatIsOffByMoreThanFivePercentIsNotBelieved) {
  OpView job(3, 2, one_slow);
  job.attribution.what_if->replay_error = 0.08;
  EXPECT_EQ(test(job.view()).outcome, Outcome::untested);
}

Straggle episode(int32_t rank, int32_t first, int32_t last) {
  Straggle s;
  s.rank = rank;
  s.first_step = first;
  s.last_step = last;
  s.mean_ratio = 1.5;
  s.peak_ratio = 2.4;
  s.seconds_per_step = 0.1;
  s.p_value = 1e-6;
  return s;
}

TEST(SyncStraggler, AnEpisodeOfOneRankHasItsWindowAndItsPeers) {
  ViewBuilder b(false);
  b.rank(6, "node07");
  b.attribution().straggles = {episode(6, 181, 194)};
  const auto v = test(b.view());
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_THAT(v.where, ElementsAre("rank/6", "host/node07"));
  EXPECT_THAT(v.because, HasSubstr("181 to 194"));
  ASSERT_TRUE(v.since.has_value());
  EXPECT_EQ(v.since->step, 181);
}

TEST(SyncStraggler, RanksThatAreLateInTurnAreAnotherCause) {
  ViewBuilder b(false);
  for (const int r : {1, 2, 3, 4})
    b.attribution().straggles.push_back(episode(r, 10 * r, 10 * r + 5));
  EXPECT_EQ(test(b.view()).outcome, Outcome::refuted);
}

// Own times of `ranks` over `steps` steps: 0.1 s, or what `late` says.
template <typename Late>
void fill_own_times(ViewBuilder& b, int32_t ranks, int32_t steps, Late late) {
  auto& a = b.attribution();
  a.current.first = 0;
  a.current.last = static_cast<size_t>(steps) - 1;
  for (int32_t s = 0; s < steps; ++s) {
    a.steps.step.push_back(s);
    a.steps.time.push_back(200'000'000);
    a.steps.start.push_back(kNoTime);
    a.steps.segment.push_back(SegmentKind::steady);
  }
  a.ranks.steps = static_cast<size_t>(steps);
  for (int32_t r = 0; r < ranks; ++r) {
    a.ranks.ranks.push_back(r);
    for (int32_t s = 0; s < steps; ++s)
      a.ranks.own_time.push_back(static_cast<Ns>(1e8 * late(r, s)));
  }
}

TEST(SyncStraggler, RanksOfOneHostThatAreLateTogetherAreOneFault) {
  ViewBuilder b(false);
  fill_own_times(b, 12, 100,
                 [](int32_t r, int32_t s) { return r >= 4 && r < 8 && s >= 40 ? 2.5 : 1.0; });
  for (int r = 0; r < 12; ++r) b.rank(r, r < 4 ? "node00" : r < 8 ? "node01" : "node02");
  for (int r = 4; r < 8; ++r) {
    b.attribution().straggles.push_back(episode(r, 40, 99));
    b.attribution().straggles.back().seconds_per_step = 0;  // alone none of them changes the step
  }
  const auto v = test(b.view());
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_EQ(v.where.front(), "host/node01");
  EXPECT_THAT(v.where, Contains("rank/4"));
  EXPECT_THAT(v.because, HasSubstr("the 4 ranks of node01"));
  ASSERT_TRUE(v.effect.has_value());
  EXPECT_NEAR(v.effect->seconds_per_step, 0.15 * 0.6, 1e-6);
}

TEST(SyncStraggler, TwoStragglersAtDifferentTimesAreBothNamed) {
  ViewBuilder b(false);
  b.attribution().straggles = {episode(2, 50, 64), episode(6, 181, 194)};
  const auto v = test(b.view());
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_THAT(v.where, Contains("rank/2"));
  EXPECT_THAT(v.where, Contains("rank/6"));
  EXPECT_THAT(v.because, HasSubstr("50 to 64"));
  EXPECT_THAT(v.because, HasSubstr("181 to 194"));
}

TEST(SyncStraggler, ThePhaseThatMakesARankLateIsALinkOfItsChain) {
  ViewBuilder b(false);
  fill_own_times(b, 4, 100, [](int32_t r, int32_t) { return r == 1 ? 3.0 : 1.0; });
  for (int r = 0; r < 4; ++r) {
    RankStat s;
    s.rank = r;
    s.phase_s.fill(kNaN);
    s.phase_s[index(Phase::input_wait)] = r == 1 ? 0.2 : 0.003;
    s.phase_s[index(Phase::backward)] = 0.1;
    b.attribution().rank_stats.push_back(s);
  }
  b.attribution().straggles = {episode(1, 0, 99)};
  const auto v = test(b.view());
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_THAT(v.because, HasSubstr("throughout, by input wait"));
  ASSERT_EQ(v.chain.size(), 2U);
  EXPECT_THAT(v.chain[1].what, HasSubstr("input wait"));
  EXPECT_FALSE(v.since.has_value());
  EXPECT_NEAR(v.effect->seconds_per_step, 0.2, 1e-6);
}

RankStat stat(int32_t rank, double ratio, double z = kNaN, double persistence = 0.9) {
  RankStat s;
  s.rank = rank;
  s.own_s = 0.1 * ratio;
  s.ratio_to_peers = ratio;
  s.robust_z = z;
  s.persistence = persistence;
  return s;
}

TEST(SyncStraggler, ARankThatWasAlwaysLateStandsOutAmongItsPeers) {
  ViewBuilder b(false);
  b.attribution().current_s = 0.2;
  b.attribution().rank_stats = {stat(0, 1), stat(1, 1.9, 12), stat(2, 1)};
  const auto v = test(b.view());
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_THAT(v.where, Contains("rank/1"));
}

TEST(SyncStraggler, AStandingOffsetOfEightPercentIsNoFault) {
  ViewBuilder b(false);
  b.attribution().current_s = 0.2;
  b.attribution().rank_stats = {stat(0, 1), stat(5, 1.08, 9), stat(2, 1)};
  const auto v = test(b.view());
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_THAT(v.reason, HasSubstr("1.08"));
}

TEST(SyncStraggler, ARankThatWandersByAsMuchAsItIsLateIsNotAccused) {
  for (const double keeps : {0.0, 0.97}) {
    ViewBuilder b(false);
    auto& a = b.attribution();
    a.current_s = 0.2;
    a.rank_stats = {stat(0, 1), stat(1, 1.15), stat(2, 1)};
    a.ranks.ranks = {0, 1, 2};
    a.ranks.steps = 200;
    a.current.last = 199;
    a.current.empty = false;
    Random random(5);
    for (int32_t r = 0; r < 3; ++r) {
      double lasting = 0;
      for (int32_t s = 0; s < 200; ++s) {
        lasting = keeps * lasting + std::sqrt(1 - keeps * keeps) * 0.1 * random.normal();
        a.ranks.own_time.push_back(static_cast<Ns>(1e8 * (r == 1 ? 1.15 : 1) * std::exp(lasting)));
      }
    }
    for (int32_t s = 0; s < 200; ++s) {
      a.steps.step.push_back(s);
      a.steps.time.push_back(200'000'000);
      a.steps.segment.push_back(SegmentKind::steady);
    }
    EXPECT_EQ(test(b.view()).outcome, keeps > 0 ? Outcome::refuted : Outcome::supported) << keeps;
  }
}

TEST(SyncStraggler, AWideSpreadOrALackOfPersistenceAccusesNobody) {
  ViewBuilder b(false);
  b.attribution().current_s = 0.2;
  b.attribution().rank_stats = {stat(0, 1), stat(1, 1.5, 1.2), stat(2, 1)};
  EXPECT_EQ(test(b.view()).outcome, Outcome::refuted);
  b.attribution().rank_stats = {stat(0, 1), stat(1, 1.5, kNaN, 0.2), stat(2, 1)};
  EXPECT_EQ(test(b.view()).outcome, Outcome::refuted);
}

TEST(SyncStraggler, OneRankOrNoneDecidesNothing) {
  ViewBuilder b(false);
  EXPECT_EQ(test(b.view()).outcome, Outcome::untested);
  b.attribution().rank_stats = {stat(0, 1)};
  EXPECT_EQ(test(b.view()).outcome, Outcome::untested);
}

TEST(SyncStraggler, OfARankThatWaitsForInputItsLoaderIsTold) {
  ViewBuilder b(false);
  b.phase(Phase::input_wait, 0.09, 0).rank(0, "a").rank(1, "a");
  b.attribution().ledger.front().ranks = {1};
  b.attribution().straggles = {episode(1, 0, 9)};
  auto& t = b.evidence().steps;
  for (int32_t i = 0; i < 20; ++i) {
    const bool late = i % 2 == 1;
    const auto row = t.append(kNoName, i % 2, i / 2, kNoTime, 100'000'000);
    t.set_phase(row, Phase::input_wait, late ? 90'000'000 : 2'000'000);
    t.set_loader(row, LoaderWork::fetch, late ? 95'000'000 : 0);
    t.set_loader(row, LoaderWork::transform, late ? 5'000'000 : 20'000'000);
  }
  const auto v = test(b.view());
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_THAT(v.because,
              HasSubstr("by input wait: its loader waits for data for 95 % of its time"));
  EXPECT_EQ(v.chain.back().what, "Its loader waits for data");
  EXPECT_EQ(v.chain.back().where, "rank/1");
}

// Four ranks of 0.1 s over 120 steps; rank 2 stalls for 0.2 s in every sixth step from step 60 on.
ViewBuilder stalls_of(const std::function<int32_t(int32_t step)>& late) {
  ViewBuilder b(false);
  auto& a = b.attribution();
  a.ranks.steps = 120;
  for (int32_t r = 0; r < 4; ++r) {
    a.ranks.ranks.push_back(r);
    for (int32_t s = 0; s < 120; ++s)
      a.ranks.own_time.push_back(late(s) == r ? 303'400'000 : 103'400'000);
  }
  for (int32_t s = 0; s < 120; ++s) {
    a.steps.step.push_back(s);
    a.steps.time.push_back(late(s) >= 0 ? 303'400'000 : 103'400'000);
    a.steps.segment.push_back(SegmentKind::steady);
  }
  a.rank_stats = {stat(0, 1), stat(1, 1), stat(2, 1.02), stat(3, 1)};
  return b;
}

TEST(SyncStraggler, ARankThatStallsAgainAndAgainIsNamedThoughItIsNeverLateForLong) {
  const auto v = test(stalls_of([](int32_t s) { return s >= 60 && s % 6 == 0 ? 2 : -1; }).view());
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_EQ(v.where.front(), "rank/2");
  ASSERT_TRUE(v.since);
  EXPECT_EQ(v.since->step, 60);
  EXPECT_NEAR(v.effect->seconds_per_step, 0.2 / 6, 1e-3);
}

TEST(SyncStraggler, StallsOfManyRanksNameNone) {
  EXPECT_NE(test(stalls_of([](int32_t s) { return s % 6 == 0 ? s / 6 % 4 : -1; }).view()).outcome,
            Outcome::supported);
}

}  // namespace
}  // namespace firstwait
