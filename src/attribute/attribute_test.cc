#include "attribute/attribute.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "align/align.h"
#include "attribute/testing/test_series.h"

namespace firstwait {
namespace {

Attribution diagnose(Evidence& evidence) {
  align(evidence, {});
  return attribute(evidence);
}

TEST(Attribute, NothingInNothingOut) {
  Evidence evidence;
  const Attribution a = diagnose(evidence);
  EXPECT_EQ(a.level, EvidenceLevel::none);
  EXPECT_EQ(a.pattern.kind, PatternKind::none);
  EXPECT_TRUE(a.ledger.empty());
}

TEST(Attribute, OnsetFollowsScaleAndShift) {
  for (const double scale : {0.5, 1.0, 3.0}) {
    Evidence evidence =
        one_rank(800, 0.05, [&](int32_t s) { return scale * (s < 500 ? 100 : 220); });
    for (Ns& start : evidence.steps.start) start += 365 * Ns{86'400'000'000'000};
    const Attribution a = diagnose(evidence);
    ASSERT_TRUE(a.onset.has_value());
    EXPECT_EQ(a.onset->step, 500);
    EXPECT_EQ(a.onset->time, evidence.steps.start[500]);
    EXPECT_EQ(a.pattern.kind, PatternKind::step);
    EXPECT_NEAR(a.slowdown, 2.2, 0.05);
    EXPECT_LT(a.slowdown_ci.lo, a.slowdown);
    EXPECT_GT(a.slowdown_ci.hi, a.slowdown);
  }
}

TEST(Attribute, EveryTenthStepIsPeriodicAndGoneWhenTheFaultIs) {
  Evidence slow = one_rank(3000, 0.01, [](int32_t s) { return s % 10 == 4 ? 600 : 100; });
  const Attribution a = diagnose(slow);
  EXPECT_EQ(a.pattern.kind, PatternKind::periodic);
  EXPECT_EQ(a.pattern.period_steps, 10);
  EXPECT_EQ(a.pattern.period_phase, 4);
  EXPECT_NEAR(a.pattern.period_ratio, 6, 0.1);
  EXPECT_NEAR(*a.pattern.period_s, 1.5, 0.02);
  EXPECT_FALSE(a.onset.has_value());
  Evidence fixed = one_rank(3000, 0.01, [](int32_t) { return 100; });
  EXPECT_EQ(diagnose(fixed).pattern.kind, PatternKind::none);
}

TEST(Attribute, APeriodBesideAnOnsetIsKept) {
  Evidence evidence = one_rank(
      3000, 0.01, [](int32_t s) { return (s % 10 == 4 ? 300 : 100) * (s < 1500 ? 1 : 2); });
  const Attribution a = diagnose(evidence);
  EXPECT_EQ(a.pattern.kind, PatternKind::step);
  ASSERT_TRUE(a.onset.has_value());
  EXPECT_NEAR(a.onset->step, 1500, 2);
  EXPECT_EQ(a.pattern.period_steps, 10);
  EXPECT_NEAR(a.pattern.period_ratio, 3, 0.1);
}

TEST(Attribute, IsolatedSlowStepsAreListedAndTheStepBehindAnEvaluationIsNot) {
  const auto time = [](int32_t s) {
    return s == 129 || s == 400 || s == 477 ? 350 : s % 125 == 1 ? 127 : 94 + s / 100;
  };
  Evidence evidence = one_rank(1000, 0.01, time);
  for (int32_t s = 0; s < 1000; s += 125)
    evidence.events.push_back(
        {"evaluation", "", kNoTime, kNoTime, {{"step", std::to_string(s)}}, ""});
  const Attribution a = diagnose(evidence);
  EXPECT_EQ(a.pattern.kind, PatternKind::intermittent);
  ASSERT_EQ(a.outliers.size(), 3U);
  EXPECT_EQ(a.outliers[0].step, 129);
  EXPECT_EQ(a.outliers[2].step, 477);
  EXPECT_NEAR(a.outliers[1].ratio, 350 / 98.0, 0.1);
}

TEST(Attribute, TwoCheapRegularWorksAreNoRhythmTogether) {
  // As when a data shard ends every 189 steps: each costs half a per cent.
  Evidence evidence =
      one_rank(5000, 0.01, [](int32_t s) { return s % 189 == 0 || s % 190 == 0 ? 290 : 140; });
  const Attribution a = diagnose(evidence);
  EXPECT_NE(a.pattern.kind, PatternKind::periodic);
}

TEST(Attribute, AProfileThatStartsLaterHoldsNoWarmUp) {
  Evidence evidence;
  const Ns ms[] = {182, 121, 118, 127, 164, 116};
  for (int32_t s = 0; s < 6; ++s)
    evidence.steps.append(kNoName, 0, s + 5, kNoTime, ms[s] * 1'000'000);
  const Attribution a = diagnose(evidence);
  ASSERT_EQ(a.outliers.size(), 2U);
  EXPECT_EQ(a.outliers[0].step, 5);
  EXPECT_EQ(a.outliers[1].step, 9);
}

TEST(Attribute, OneSlowEpochIsAnOutlierAndASlowFirstEpochIsNone) {
  Evidence evidence;
  const double seconds[] = {132.81, 112.88, 112.87, 112.85, 174.06};
  for (int32_t e = 0; e < 5; ++e) {
    const size_t row =
        evidence.steps.append(kNoName, 0, e + 1, kNoTime, static_cast<Ns>(seconds[e] * 1e9));
    evidence.steps.epoch[row] = e + 1;
  }
  const Attribution a = diagnose(evidence);
  ASSERT_EQ(a.outliers.size(), 1U);
  EXPECT_EQ(a.outliers[0].step, 5);
  EXPECT_EQ(a.steps.segment[0], SegmentKind::first_epoch);
  EXPECT_FALSE(a.onset.has_value());
}

// Six profiled steps of rank 0, half of each waiting for input.
void add_traced_spans(Evidence& evidence, int32_t first, Ns from, Ns length) {
  const NameId wait =
      evidence.names.intern("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
  const NameId work = evidence.names.intern("aten::mm");
  for (int32_t s = first; s < first + 6; ++s, from += length) {
    const NameId step = evidence.names.intern("ProfilerStep#" + std::to_string(s));
    const Phase none = Phase::unexplained;
    evidence.spans.append(0, s, from, length, step, none, Lane::main_thread, 1);
    evidence.spans.append(0, -1, from, length / 2, wait, none, Lane::main_thread, 1);
    evidence.spans.append(0, -1, from + length / 2, length / 2, work, none, Lane::main_thread, 1);
    evidence.spans.append(0, -1, from + length / 2, length / 4, work, none, Lane::gpu_compute, 7);
  }
  evidence.rank(0);
}

const LedgerRow* row_of(const Attribution& a, Phase phase) {
  for (const LedgerRow& row : a.ledger)
    if (row.phase == phase) return &row;
  return nullptr;
}

TEST(Attribute, ALogBesideATraceAddsItsHistoryAndKeepsThePhases) {
  const auto time = [](int32_t s) { return s < 200 ? 120 : 180; };
  Evidence evidence = one_rank(400, 0.01, time);
  add_traced_spans(evidence, 300, evidence.steps.start[300], 180'000'000);
  const Attribution a = diagnose(evidence);
  EXPECT_EQ(a.level, EvidenceLevel::ops);
  EXPECT_EQ(a.steps.size(), 400U);
  ASSERT_TRUE(a.onset.has_value());
  EXPECT_EQ(a.onset->step, 200);
  const LedgerRow* input = row_of(a, Phase::input_wait);
  ASSERT_NE(input, nullptr);
  EXPECT_NEAR(input->share, 0.5, 0.01);
  EXPECT_NEAR(input->seconds, 0.09, 0.002);
  EXPECT_FALSE(input->before.has_value()) << "no phases were recorded before";
  double sum = 0;
  for (const LedgerRow& row : a.ledger) sum += row.seconds;
  EXPECT_NEAR(sum, a.current_s, 1e-9);
}

TEST(Attribute, ATraceNumberedOtherwiseIsPlacedByItsTime) {
  Evidence evidence = one_rank(400, 0.01, [](int32_t) { return 180; });
  evidence.steps.set_number(evidence.steps.loss, 300, 2.5);
  add_traced_spans(evidence, 0, evidence.steps.start[300], 180'000'000);
  const Attribution a = diagnose(evidence);
  EXPECT_EQ(a.steps.size(), 400U);
  EXPECT_EQ(a.steps.ledger[index(Phase::input_wait)][0], 0);
  EXPECT_GT(a.steps.ledger[index(Phase::input_wait)][302], 80'000'000);
}

TEST(Attribute, ALogOfAnotherTimeIsMatchedByNumber) {
  Evidence evidence = one_rank(400, 0.01, [](int32_t) { return 180; });
  add_traced_spans(evidence, 50, 1'000'000, 180'000'000);
  const Attribution a = diagnose(evidence);
  EXPECT_EQ(a.steps.size(), 400U);
  EXPECT_GT(a.steps.ledger[index(Phase::input_wait)][50], 80'000'000);
}

TEST(Attribute, LedgerSumsExactlyAndFollowsTheLateRank) {
  Evidence evidence;
  for (int32_t r = 0; r < 4; ++r)
    for (int32_t s = 0; s < 50; ++s) {
      const size_t row = evidence.steps.append(kNoName, r, s, kNoTime, 100'000'001);
      const Ns input = r == 2 ? 60'000'000 : 5'000'000;
      evidence.steps.set_phase(row, Phase::input_wait, input);
      evidence.steps.set_phase(row, Phase::forward, 20'000'000);
      evidence.steps.set_phase(row, Phase::collective, 75'000'000 - input);
    }
  const Attribution a = diagnose(evidence);
  EXPECT_EQ(a.level, EvidenceLevel::phases);
  for (size_t c = 0; c < a.steps.size(); ++c) {
    Ns sum = 0;
    for (const auto& column : a.steps.ledger) sum += column[c];
    EXPECT_EQ(sum, a.steps.time[c]);
    EXPECT_EQ(a.steps.critical_rank[c], 2);
  }
  ASSERT_FALSE(a.ledger.empty());
  EXPECT_EQ(a.ledger[0].phase, Phase::input_wait);
  EXPECT_EQ(a.ledger[0].ranks, std::vector<int32_t>{2});
  double seconds = 0;
  for (const LedgerRow& row : a.ledger) seconds += row.seconds;
  EXPECT_NEAR(seconds, a.current_s, 1e-12);
  EXPECT_NEAR(a.collective_transfer_s, 0.015, 1e-9);
  EXPECT_NEAR(a.collective_wait_s, 0.055 * 3 / 4, 1e-9);
  EXPECT_NEAR(a.productive_fraction, 0.2, 1e-6);
  EXPECT_EQ(a.pattern.kind, PatternKind::chronic);
}

TEST(Attribute, PhasesLongerThanTheirStepAreFittedIn) {
  Evidence evidence;  // by less than phases are rounded to: milliseconds
  for (int32_t s = 0; s < 5; ++s) {
    const size_t row = evidence.steps.append(kNoName, 0, s, kNoTime, 1000);
    evidence.steps.set_phase(row, Phase::forward, 500'000);
    evidence.steps.set_phase(row, Phase::backward, 500'000);
  }
  const Attribution a = diagnose(evidence);
  EXPECT_EQ(a.steps.ledger[index(Phase::forward)][0], 500);
  EXPECT_EQ(a.steps.ledger[index(Phase::unexplained)][0], 0);
}

TEST(Attribute, PhasesThatCannotBeTrueMakeNoLedger) {
  Evidence evidence;
  for (int32_t s = 0; s < 5; ++s) {
    const size_t row = evidence.steps.append(kNoName, 0, s, kNoTime, 1000);
    evidence.steps.set_phase(row, Phase::forward, INT64_MAX);
    evidence.steps.set_phase(row, Phase::backward, INT64_MAX);
  }
  const Attribution a = diagnose(evidence);
  EXPECT_EQ(a.level, EvidenceLevel::steps);
  EXPECT_EQ(a.steps.ledger[index(Phase::unexplained)][0], 1000);
  EXPECT_NE(a.productive_fraction, a.productive_fraction);
}

TEST(Attribute, HostileTimesDoNotOverflow) {
  Evidence evidence;
  for (int32_t s = 0; s < 20; ++s) {
    evidence.steps.append(kNoName, s % 3, INT32_MAX - s, s % 2 == 0 ? INT64_MAX : INT64_MIN + 1,
                          INT64_MAX);
    evidence.collectives.append(s % 3, -1, 1, 0, s, INT64_MIN + 1 + s, INT64_MAX, -1, true);
  }
  evidence.rank(0).relative_time = true;
  const Attribution a = diagnose(evidence);
  EXPECT_EQ(a.steps.size(), 20U);
}

// Rank 1's two loader workers deliver in turn: it waits in every other step, when rank 0 waits for
// it; in the steps between rank 0 waits a little longer.
TEST(Attribute, ARankThatWaitsEveryOtherStepCarriesTheWait) {
  Evidence evidence;
  for (int32_t step = 0; step < 61; ++step)
    for (int32_t rank = 0; rank < 2; ++rank) {
      const bool slow = step % 2 == 0;
      const Ns whole = slow ? 95'000'000 : 8'000'000;
      const Ns wait = rank == 0 ? 2'500'000 : slow ? 90'000'000 : 50'000;
      const auto row = evidence.steps.append(kNoName, rank, step, kNoTime, whole);
      evidence.steps.set_phase(row, Phase::input_wait, wait);
      evidence.steps.set_phase(row, Phase::backward, 2'000'000);
      evidence.steps.set_phase(row, Phase::collective, whole - wait - 2'500'000);
    }
  const Attribution a = diagnose(evidence);
  for (const auto& row : a.ledger)
    if (row.phase == Phase::input_wait) {
      EXPECT_EQ(row.ranks, std::vector<int32_t>{1});
    }
}

TEST(Attribute, ManyRanksAndStepsWithOneRowEachStayInProportion) {
  Evidence evidence;
  for (int32_t i = 0; i < 20'000; ++i) evidence.steps.append(kNoName, i, i, kNoTime, 1000);
  const Attribution a = diagnose(evidence);
  EXPECT_LE(a.ranks.step_time.size(), size_t{1} << 20);
}

}  // namespace
}  // namespace firstwait
