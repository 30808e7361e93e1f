#include "attribute/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "attribute/testing/made_up.h"

namespace firstwait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using whatif::MadeUp;

// Two data-parallel ranks, one stage: forward f, backward 2 f, then a scatter (0.1 s of transfer)
// that joins them.
void step(MadeUp& m, int32_t number, double slow_factor, int32_t slow_dp = 0) {
  const double slowest = 3 * std::max(1.0, slow_factor);
  for (const int32_t dp : {0, 1}) {
    const double f = dp == slow_dp ? slow_factor : 1.0;
    m.at(dp, 0, number)
        .op("forward-compute", 0, 0, f, 0, 0)
        .op("backward-compute", 0, f, 2 * f, 0, 0)
        .op("grads-reduce-scatter", 0, 3 * f, slowest - 3 * f + 0.1, 0)
        .op("optimizer", 0, slowest + 0.1, 0.4);
  }
}

TEST(WhatIf, WithoutOpsThereIsNothing) { EXPECT_FALSE(replay_ops(Evidence{}).has_value()); }

TEST(WhatIf, AnEvenJobHasNoSlowdown) {
  MadeUp m;
  for (const int n : {5, 6, 7}) step(m, n, 1.0);
  const auto w = replay_ops(m.evidence);
  ASSERT_TRUE(w && w->refused.empty()) << w->refused;
  EXPECT_NEAR(w->slowdown, 1, 1e-6);
  EXPECT_NEAR(w->replay_error, 0, 1e-6);
  EXPECT_THAT(w->step, ElementsAre(5, 6, 7));
}

TEST(WhatIf, ASlowDataParallelRankCarriesTheSlowdown) {
  MadeUp m;
  for (const int n : {0, 1, 2}) step(m, n, 2.0);
  const auto w = replay_ops(m.evidence);
  ASSERT_TRUE(w && w->refused.empty()) << w->refused;
  // Own: 6 + 0.1 + 0.4. Ideal: mean forward 1.5 and backward 3, then 0.1 + 0.4.
  EXPECT_NEAR(w->nodelay_s, 6.5, 1e-5);
  EXPECT_NEAR(w->ideal_s, 5.0, 1e-5);
  EXPECT_NEAR(w->slowdown, 1.3, 1e-5);
  ASSERT_EQ(w->by_dp_rank.size(), 2U);
  EXPECT_NEAR(w->by_dp_rank[0], 1.3, 1e-5);
  EXPECT_NEAR(w->by_dp_rank[1], 1.0, 1e-5);
  EXPECT_NEAR(w->by_stage[0], 1.3, 1e-5);
  ASSERT_EQ(w->top.size(), 1U);
  EXPECT_EQ(w->top[0].dp_rank, 0);
  EXPECT_EQ(w->top[0].rank, 100);
  EXPECT_NEAR(w->worker_share_addback, 1.0, 1e-5);
  // Without the slow rank the other one, which is faster than the mean, does not make the job
  // faster than ideal.
  EXPECT_NEAR(w->worker_share_removal, 1.0, 1e-5);
}

TEST(WhatIf, TheAnswerFollowsWhenRanksSwapAndTimesScale) {
  MadeUp m;
  for (const int n : {0, 1, 2}) step(m, n, 2.0, 1);
  for (auto& x : m.evidence.ops.start) x *= 3;
  for (auto& x : m.evidence.ops.duration) x *= 3;
  const auto w = replay_ops(m.evidence);
  EXPECT_NEAR(w->slowdown, 1.3, 1e-5);
  EXPECT_EQ(w->top[0].dp_rank, 1);
  EXPECT_NEAR(w->nodelay_s, 19.5, 1e-4);
}

TEST(WhatIf, TheWaitOfAVictimIsNotBlamedOnTheTransfer) {
  MadeUp m;
  for (const int n : {0, 1, 2}) step(m, n, 2.0);
  const auto w = replay_ops(m.evidence);
  for (const auto& op : w->by_op) {
    if (op.name == "grads-reduce-scatter") {
      EXPECT_NEAR(op.slowdown, 1.0, 1e-5);
    }
  }
}

TEST(WhatIf, ATransferMoreThanTenMillisecondsNegativeCountsAsNone) {
  MadeUp m;
  for (const int n : {0, 1, 2})
    for (const int dp : {0, 1}) {
      m.at(dp, 0, n).op("forward-compute", 0, 0, 1, 0, 0);
      // Rank 0 ends before rank 1 begins: clocks disagree by 0.5 s.
      m.op("grads-reduce-scatter", 0, dp == 0 ? 1.0 : 1.6, 0.1, 0);
    }
  const auto w = replay_ops(m.evidence);
  EXPECT_NEAR(w->nodelay_s, 1.1, 1e-5);  // rank 0: 0, not 1.1 - 1.6
}

TEST(WhatIf, IncompleteFirstAndLastStepsAreDroppedAndCounted) {
  MadeUp m;
  for (const int n : {0, 1, 2, 3, 4}) step(m, n, 2.0);
  auto& t = m.evidence.ops;
  // The recording began after the first operation of step 0 and ended before the last of step 4.
  const auto drop = [&](size_t row) {
    for (auto* c : {&t.dp_rank, &t.stage, &t.rank, &t.step, &t.seq, &t.model_chunk,
                    &t.global_model_chunk, &t.microbatch})
      c->erase(c->begin() + static_cast<std::ptrdiff_t>(row));
    t.optype.erase(t.optype.begin() + static_cast<std::ptrdiff_t>(row));
    t.start.erase(t.start.begin() + static_cast<std::ptrdiff_t>(row));
    t.duration.erase(t.duration.begin() + static_cast<std::ptrdiff_t>(row));
  };
  drop(t.size() - 1);
  drop(0);
  const auto w = replay_ops(m.evidence);
  ASSERT_TRUE(w->refused.empty()) << w->refused;
  EXPECT_EQ(w->dropped_steps, 2);
  EXPECT_THAT(w->step, ElementsAre(1, 2, 3));
  EXPECT_NEAR(w->slowdown, 1.3, 1e-5);
}

TEST(WhatIf, AnIncompleteStepInTheMiddleIsRefusedByName) {
  MadeUp m;
  for (const int n : {0, 1, 2, 3, 4}) step(m, n, 1.0);
  m.evidence.ops.seq[16] = 7;  // the first operation of step 2
  const auto w = replay_ops(m.evidence);
  EXPECT_THAT(w->refused, HasSubstr("step 2, dp rank 0"));
  EXPECT_TRUE(std::isnan(w->slowdown));
}

TEST(WhatIf, TheSameOperationTwiceIsRefused) {
  MadeUp m;
  for (const int n : {0, 1})
    for (const int dp : {0, 1})
      m.at(dp, 0, n).op("forward-compute", 0, 0, 1, 0, 0).op("forward-compute", 0, 1, 1, 0, 0);
  EXPECT_THAT(replay_ops(m.evidence)->refused, HasSubstr("twice"));
}

TEST(WhatIf, MissingRanksAndStagesAreRefusedByName) {
  MadeUp m;
  for (const int n : {0, 1}) step(m, n, 1.0);
  for (auto& d : m.evidence.ops.dp_rank) d *= 2;
  EXPECT_THAT(replay_ops(m.evidence)->refused, HasSubstr("dp rank 1 has no records"));
  MadeUp stages;
  stages.at(0, 0).op("forward-compute", 0, 0, 1, 0, 0);
  stages.evidence.job.pp = 4;
  EXPECT_THAT(replay_ops(stages.evidence)->refused, HasSubstr("1 of 4 pipeline stages"));
}

TEST(WhatIf, UnknownOperationsAreNamedAndLeftOut) {
  MadeUp m;
  for (const int n : {0, 1, 2}) {
    step(m, n, 1.0);
    m.op("tea-break", 0, 0, 2);
  }
  const auto w = replay_ops(m.evidence);
  ASSERT_TRUE(w->refused.empty()) << w->refused;
  EXPECT_THAT(w->ignored_ops, ElementsAre("tea-break"));
}

TEST(WhatIf, ZeroDurationsAreRefusedNotDivided) {
  MadeUp m;
  m.at(0, 0).op("forward-compute", 0, 0, 0, 0, 0);
  EXPECT_FALSE(replay_ops(m.evidence)->refused.empty());
}

TEST(WhatIf, HostileNumbersDoNotCrash) {
  MadeUp m;
  m.at(0, 0)
      .op("forward-compute", INT32_MAX, 0, 1, INT32_MAX - 1, INT32_MAX - 1)
      .op("forward-send", -5, -1e9, 1e9, -7);
  m.at(0, 0, INT32_MIN).op("forward-compute", 0, 0, 1e9, -2, 3);
  const auto w = replay_ops(m.evidence);
  ASSERT_TRUE(w.has_value());
}

TEST(OpSteps, SplitsAStepIntoComputeAndExposedCommunication) {
  MadeUp m;
  step(m, 3, 2.0);
  const OpAnalysis a = analyse_ops(m.evidence);
  ASSERT_EQ(a.steps.size(), 2U);
  EXPECT_THAT(a.steps.rank, ElementsAre(100, 110));
  // Rank 110 is the victim: 3 s of its own, 3 s of wait, 0.1 s of transfer.
  EXPECT_NEAR(static_cast<double>(a.steps.phase(1, Phase::forward)), 1e9, 1e3);
  EXPECT_NEAR(static_cast<double>(a.steps.phase(1, Phase::backward)), 2e9, 1e3);
  EXPECT_NEAR(static_cast<double>(a.steps.phase(1, Phase::collective)), 3.1e9, 1e3);
  EXPECT_NEAR(static_cast<double>(a.wait[1]), 3e9, 1e3);
  EXPECT_NEAR(static_cast<double>(a.wait[0]), 0, 1e3);
  EXPECT_NEAR(static_cast<double>(a.steps.duration[0]), 6.5e9, 1e3);
  // The path: all of the slow rank's compute, the transfer, the optimizer.
  ASSERT_EQ(a.path.size(), 1U);
  EXPECT_EQ(a.path.critical_rank[0], 100);
  EXPECT_NEAR(static_cast<double>(a.path.ledger[index(Phase::forward)][0]), 2e9, 1e3);
  EXPECT_NEAR(static_cast<double>(a.path.ledger[index(Phase::backward)][0]), 4e9, 1e3);
  EXPECT_NEAR(static_cast<double>(a.path.ledger[index(Phase::collective)][0]), 0.1e9, 1e3);
}

TEST(OpSteps, ComputeHidesTheCommunicationBesideIt) {
  MadeUp m;
  m.at(0, 0, 0)
      .op("forward-compute", 0, 0, 1, 0, 0)
      .op("forward-recv", 0, 0.5, 1.0)
      .op("backward-compute", 0, 1.8, 1, 0, 0);
  const StepTable t = op_steps(m.evidence);
  ASSERT_EQ(t.size(), 1U);
  EXPECT_NEAR(static_cast<double>(t.phase(0, Phase::p2p)), 0.5e9, 1e3);
  EXPECT_NEAR(static_cast<double>(t.duration[0]), 2.8e9, 1e3);
}

TEST(OpSteps, RecordsThatMakeNoJobStillGiveSteps) {
  MadeUp m;
  m.at(0, 0, 0).op("forward-compute", 0, 0, 1, 0, 0);
  m.at(3, 0, 0).op("forward-compute", 0, 0, 2, 0, 0).op("forward-compute", 0, 5, 1, 0, 0);
  const OpAnalysis a = analyse_ops(m.evidence);
  EXPECT_FALSE(a.what_if->refused.empty());
  ASSERT_EQ(a.steps.size(), 2U);
  EXPECT_NEAR(static_cast<double>(a.steps.phase(1, Phase::forward)), 3e9, 1e3);
  EXPECT_EQ(a.wait[1], kNoDuration);
  EXPECT_EQ(a.path.size(), 0U);
}

TEST(OpSteps, WorkersThatShareARankNumberAreToldApart) {
  MadeUp m;
  for (const int n : {0, 1}) step(m, n, 1.0);
  for (auto& r : m.evidence.ops.rank) r = -1;
  EXPECT_THAT(op_steps(m.evidence).rank, ElementsAre(0, 0, 1, 1));
}

}  // namespace
}  // namespace firstwait
