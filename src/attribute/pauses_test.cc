#include "attribute/pauses.h"

#include <gtest/gtest.h>

#include <numeric>

#include "align/align.h"
#include "attribute/attribute.h"

namespace firstwait {
namespace {

constexpr Ns kEpoch = 1'764'500'000'000'000'000, kMs = 1'000'000, kSecond = 1'000'000'000;

Ns sum(const std::vector<Ns>& values) {
  Ns total = 0;
  for (const Ns v : values) total += std::max<Ns>(0, v);
  return total;
}

// Ranks that begin each step together; `work` and `idle` in milliseconds of a step. 93 % of the
// work is recorded.
template <typename Work, typename Idle>
Evidence job(int32_t ranks, int32_t steps, const Work& work, const Idle& idle) {
  Evidence evidence;
  Ns at = kEpoch + 123'457;
  for (int32_t s = 0; s < steps; ++s) {
    Ns longest = 0;
    for (int32_t r = 0; r < ranks; ++r) {
      const Ns time = work(r, s) * kMs + (s * 7919 + r * 104'729) % 9973;  // no round numbers
      const size_t row = evidence.steps.append(kNoName, r, s, at, time);
      evidence.steps.set_phase(row, Phase::forward, time / 3);
      evidence.steps.set_phase(row, Phase::backward, time * 6 / 10);
      longest = std::max(longest, time);
    }
    at += longest + idle(s) * kMs;
  }
  return evidence;
}

Attribution diagnose(Evidence& evidence) {
  align(evidence, {});
  return attribute(evidence);
}

double unexplained_share(const Attribution& a) {
  for (const LedgerRow& row : a.ledger)
    if (row.phase == Phase::unexplained) return row.share;
  return kNaN;
}

void expect_sums(const Attribution& a) {
  for (size_t c = 0; c < a.steps.size(); ++c) {
    Ns total = 0;
    for (const auto& phase : a.steps.ledger) total += phase[c];
    EXPECT_EQ(total, a.steps.time[c]);
  }
}

Ns usual(int32_t, int32_t) { return 400; }

TEST(Pauses, TimeBetweenStepsIsPartOfTheStep) {
  Evidence evidence = job(4, 100, usual, [](int32_t) { return 600; });
  const Attribution a = diagnose(evidence);
  EXPECT_NEAR(a.current_s, 1.0, 0.001);
  EXPECT_NEAR(unexplained_share(a), 0.628, 0.002);
  EXPECT_NEAR(a.productive_fraction, 0.372, 0.002);
  EXPECT_EQ(a.pattern.kind, PatternKind::chronic);
  EXPECT_TRUE(a.straggles.empty());
  expect_sums(a);
  // Of the last step it is not known how long the next one was waited for.
  EXPECT_LT(a.current.last, 99U);
}

TEST(Pauses, AShortOneIsThereButNoSlowness) {
  Evidence evidence = job(4, 100, usual, [](int32_t) { return 8; });
  const Attribution a = diagnose(evidence);
  EXPECT_NEAR(a.current_s, 0.408, 0.001);
  EXPECT_EQ(a.pattern.kind, PatternKind::none);
  EXPECT_EQ(a.current.last, 99U);
  expect_sums(a);
}

TEST(Pauses, ThoseOfEveryTwentyFifthStepAreAPeriod) {
  Evidence evidence = job(4, 250, usual, [](int32_t s) { return s % 25 == 24 ? 8000 : 0; });
  const Attribution a = diagnose(evidence);
  EXPECT_EQ(a.pattern.kind, PatternKind::periodic);
  EXPECT_EQ(a.pattern.period_steps, 25);
  EXPECT_EQ(a.pattern.period_phase, 24);
  EXPECT_NEAR(a.pattern.cost_s_per_step, 0.32 * 249 / 250, 0.05);
}

TEST(Pauses, ThatBeginMakeAnOnset) {
  Evidence evidence = job(4, 200, usual, [](int32_t s) { return s < 120 ? 0 : 500; });
  const Attribution a = diagnose(evidence);
  ASSERT_TRUE(a.onset.has_value());
  EXPECT_EQ(a.onset->step, 120);
  EXPECT_NEAR(a.slowdown, 2.25, 0.03);
}

// A log tells when a step ended to the second, and how long it took.
TEST(Pauses, StampsOfALogMakeNone) {
  Evidence evidence;
  Ns true_end = kEpoch;
  for (int32_t s = 0; s < 300; ++s) {
    const Ns time = 400 * kMs + (s * 37 % 11) * kMs;
    true_end += time;
    evidence.steps.append(kNoName, 0, s, true_end / kSecond * kSecond - time, time);
  }
  EXPECT_EQ(sum(pauses(evidence.steps, evidence)), 0);
  align(evidence, {});
  for (const HealthEntry& entry : evidence.health.entries())
    EXPECT_NE(entry.counter->name, "overlapping_steps");
}

TEST(Pauses, CoarseStampsTellTheLeastThatLiesBetween) {
  Evidence evidence;
  Ns true_end = kEpoch;
  for (int32_t s = 0; s < 300; ++s) {
    const Ns time = 400 * kMs + (s * 37 % 11) * kMs;
    true_end += 600 * kMs + time;
    evidence.steps.append(kNoName, 0, s, true_end / kSecond * kSecond - time, time);
  }
  const Ns between = sum(pauses(evidence.steps, evidence));
  EXPECT_LE(between, 300 * 600 * kMs);
  EXPECT_GE(between, 299 * 600 * kMs - 2 * kSecond);  // a stamp at either end
}

TEST(Pauses, RoundedDurationsMakeNone) {
  Evidence evidence;  // 0.44 s each, written as 0.4
  for (int32_t s = 0; s < 50; ++s)
    evidence.steps.append(kNoName, 0, s, kEpoch + 123'456'789 + s * 440 * kMs, 400 * kMs);
  EXPECT_EQ(sum(pauses(evidence.steps, evidence)), 0);
}

TEST(Pauses, StepsThatWereNotRecordedAreNone) {
  Evidence evidence;
  for (int32_t s = 0; s < 50; ++s)
    evidence.steps.append(kNoName, 0, 10 * s, kEpoch + 7 + s * 4000 * kMs, 400 * kMs + 3 * s);
  for (const Ns pause : pauses(evidence.steps, evidence)) EXPECT_EQ(pause, kNoDuration);
  Evidence without;
  for (int32_t s = 0; s < 50; ++s) without.steps.append(kNoName, 0, s, kNoTime, 400 * kMs);
  for (const Ns pause : pauses(without.steps, without)) EXPECT_EQ(pause, kNoDuration);
}

TEST(Pauses, AnEvaluationBetweenStepsIsNoPause) {
  Evidence evidence;
  Ns at = kEpoch + 11;
  for (int32_t s = 0; s < 60; ++s) {
    evidence.steps.append(kNoName, 0, s, at, 400 * kMs + s);
    at += 400 * kMs + s;
    if (s % 20 != 19) continue;
    const size_t row = evidence.steps.append(kNoName, 0, s, at, 9000 * kMs + s);
    evidence.steps.kind[row] = StepKind::evaluation;
    at += 9000 * kMs + s;
  }
  EXPECT_EQ(sum(pauses(evidence.steps, evidence)), 0);
  EXPECT_NEAR(diagnose(evidence).current_s, 0.4, 0.001);
}

// A log of blocks between evaluations: without phases the evaluation is no part of them, and a
// block told by its mean step is followed by the rest of it.
TEST(Pauses, BlocksOfALogArePausedByTheirEvaluationsOnlyInPhases) {
  Evidence evidence;
  for (int32_t s = 0; s < 20; ++s) {
    const Ns start = kEpoch + 11 + s * 160 * kSecond, end = start + 138 * kSecond + s * kMs + 7;
    evidence.steps.append(kNoName, 0, s, start, end - start);
    evidence.events.push_back({"evaluation", "job/j", end, end + 20 * kSecond, {}, "test"});
  }
  for (const Ns pause : pauses(evidence.steps, evidence)) EXPECT_LE(pause, 2 * kSecond);
  for (size_t row = 0; row < 20; ++row)
    evidence.steps.set_phase(row, Phase::forward, 100 * kSecond);
  const auto with = pauses(evidence.steps, evidence);
  EXPECT_NEAR(static_cast<double>(with[5]) / 1e9, 22, 0.01);
  EXPECT_EQ(with_pauses(evidence.steps, with, evidence).phase(5, Phase::evaluation), 20 * kSecond);
  evidence.settings.push_back({"job/j", "log.row", "mean step of a block", "test", kNoTime});
  EXPECT_EQ(pauses(evidence.steps, evidence)[5], kNoDuration);
}

TEST(Pauses, TheTimeOfARestartIsNoSlowStep) {
  for (const bool repeated : {false, true}) {
    Evidence evidence;
    Ns at = kEpoch + 11;
    for (int32_t s = 0; s < 120; ++s, at += 400 * kMs + s)
      evidence.steps.append(kNoName, 0, s, at, 400 * kMs + s);
    at += (repeated ? 90 : 3600) * kSecond;
    for (int32_t s = repeated ? 100 : 120; s < 300; ++s, at += 400 * kMs + s)
      evidence.steps.append(kNoName, 0, s, at, 400 * kMs + s);
    const Attribution a = diagnose(evidence);
    const auto restart = std::find_if(evidence.events.begin(), evidence.events.end(),
                                      [](const Event& e) { return e.kind == "restart"; });
    ASSERT_NE(restart, evidence.events.end()) << repeated;
    EXPECT_EQ(restart->attribute("step"), repeated ? "100" : "120");
    EXPECT_NEAR(a.current_s, 0.4, 0.001) << repeated;
    EXPECT_TRUE(a.outliers.empty()) << repeated;
    EXPECT_EQ(a.pattern.kind, PatternKind::none) << repeated;
  }
}

size_t events_of(const Evidence& evidence, std::string_view kind) {
  return static_cast<size_t>(std::count_if(evidence.events.begin(), evidence.events.end(),
                                           [kind](const Event& e) { return e.kind == kind; }));
}

TEST(Pauses, ALoneLongOneIsNoSlowStep) {
  for (const Ns seconds : {60, 300}) {
    Evidence evidence =
        job(4, 200, usual, [&](int32_t s) { return s == 119 ? seconds * 1000 : 0; });
    const Attribution a = diagnose(evidence);
    EXPECT_EQ(a.pattern.kind, PatternKind::none) << seconds;
    EXPECT_TRUE(a.outliers.empty()) << seconds;
    EXPECT_LT(a.current_s, 1) << seconds;
    ASSERT_EQ(events_of(evidence, "pause"), 1U) << seconds;
    const auto pause = std::find_if(evidence.events.begin(), evidence.events.end(),
                                    [](const Event& e) { return e.kind == "pause"; });
    EXPECT_EQ(pause->attribute("step"), "120");
    EXPECT_NEAR(static_cast<double>(pause->end - pause->start) / 1e9, static_cast<double>(seconds),
                0.01);
  }
}

TEST(Pauses, LongOnesThatReturnBelongToTheSteps) {
  Evidence evidence = job(2, 200, usual, [](int32_t s) { return s % 50 == 49 ? 60'000 : 0; });
  const Attribution a = diagnose(evidence);
  EXPECT_EQ(events_of(evidence, "pause"), 0U);
  EXPECT_NE(a.pattern.kind, PatternKind::none);
}

TEST(Pauses, ALoneOneThatAnEventExplainsIsNone) {
  Evidence evidence = job(2, 200, usual, [](int32_t s) { return s == 119 ? 60'000 : 0; });
  const Ns end = evidence.steps.start[240];
  evidence.events.push_back({"evaluation", "job/j", end - 59 * kSecond, end, {}, "test"});
  diagnose(evidence);
  EXPECT_EQ(events_of(evidence, "pause"), 0U);
}

TEST(Pauses, OneOfASingleRankIsNoPauseOfTheJob) {
  Evidence evidence = job(2, 100, usual, [](int32_t) { return 0; });
  for (size_t row = 120; row < evidence.steps.size(); ++row)
    if (evidence.steps.rank[row] == 1) evidence.steps.start[row] += 60 * kSecond;
  diagnose(evidence);
  EXPECT_EQ(events_of(evidence, "pause"), 0U);
}

TEST(Pauses, ALongSaveIsNoRestart) {
  Evidence evidence = job(2, 100, usual, [](int32_t s) { return s == 49 ? 900'000 : 0; });
  const Ns end = evidence.steps.start[100] - 10 * kMs;
  evidence.events.push_back({"checkpoint", "job/j", end - 880 * kSecond, end, {}, "test"});
  const Attribution a = diagnose(evidence);
  EXPECT_EQ(std::count_if(evidence.events.begin(), evidence.events.end(),
                          [](const Event& e) { return e.kind == "restart"; }),
            0);
  EXPECT_EQ(a.steps.segment[49], SegmentKind::checkpoint);
  EXPECT_EQ(a.steps.ledger[index(Phase::checkpoint)][49], 880 * kSecond);
  EXPECT_NEAR(static_cast<double>(a.steps.ledger[index(Phase::unexplained)][49]) / 1e9, 20.03,
              0.01);
}

// Where ranks wait for the slowest behind their step, that is no work of their own.
TEST(Pauses, WaitingForALateRankIsNoLatenessOfTheOthers) {
  Evidence evidence = job(
      8, 200, [](int32_t r, int32_t) { return r == 5 ? 600 : 400; }, [](int32_t) { return 0; });
  const Attribution a = diagnose(evidence);
  ASSERT_EQ(a.straggles.size(), 1U);
  EXPECT_EQ(a.straggles[0].rank, 5);
  EXPECT_NEAR(a.straggles[0].mean_ratio, 1.5, 0.02);
}

// One rank works between its steps, and the others wait for it in the all-reduce.
TEST(Pauses, WorkOfOneRankBetweenItsStepsMakesItLate) {
  Evidence evidence;
  Ns at = kEpoch + 11;
  for (int32_t s = 0; s < 200; ++s, at += 700 * kMs + s) {
    for (int32_t r = 0; r < 8; ++r) {
      const bool late = r == 3;
      const size_t row = evidence.steps.append(kNoName, r, s, late ? at + 300 * kMs : at,
                                               (late ? 400 : 700) * kMs + s);
      evidence.steps.set_phase(row, Phase::forward, 150 * kMs);
      evidence.steps.set_phase(row, Phase::backward, 230 * kMs);
      evidence.steps.set_phase(row, Phase::collective, (late ? 20 : 320) * kMs);
    }
  }
  const Attribution a = diagnose(evidence);
  ASSERT_EQ(a.straggles.size(), 1U);
  EXPECT_EQ(a.straggles[0].rank, 3);
  EXPECT_NEAR(a.straggles[0].mean_ratio, 1.75, 0.03);
  expect_sums(a);
}

// A save of rank 0 between its steps is waited for in the others' next step: it is lost once.
TEST(Pauses, APauseOfOneRankThatOthersWaitForIsCountedOnce) {
  Evidence evidence;
  Ns at = kEpoch + 11;
  for (int32_t s = 0; s < 200; ++s) {
    const Ns save = s % 25 == 24 ? 8 * kSecond : 0;
    for (int32_t r = 0; r < 4; ++r)
      evidence.steps.append(kNoName, r, s, r == 0 ? at + save : at,
                            400 * kMs + s + (r == 0 ? 0 : save));
    at += 400 * kMs + s + save;
  }
  const Attribution a = diagnose(evidence);
  EXPECT_NEAR(static_cast<double>(sum(a.steps.time)) / 1e9, 200 * 0.4 + 8 * 8, 0.1);
  EXPECT_EQ(a.pattern.period_steps, 25);
  EXPECT_NEAR(a.pattern.cost_s_per_step, 0.32, 0.02);
}

// A clock that was set makes no rank late.
TEST(Pauses, APauseOfOneRankThatNobodyWaitsForIsItsClock) {
  Evidence evidence = job(4, 200, usual, [](int32_t) { return 0; });
  for (size_t row = 0; row < evidence.steps.size(); ++row)
    if (evidence.steps.rank[row] == 2 && evidence.steps.step[row] >= 100)
      evidence.steps.start[row] += 60 * kSecond;
  const Attribution a = diagnose(evidence);
  EXPECT_NEAR(a.current_s, 0.4, 0.01);
  EXPECT_TRUE(a.outliers.empty());
}

TEST(Pauses, WhereStepsOverlapStartsTellNone) {
  Evidence evidence;
  for (int32_t s = 0; s < 100; ++s)
    evidence.steps.append(kNoName, 0, s, kEpoch + 11 + s * 500 * kMs,
                          (s % 10 == 0 ? 700 : 300) * kMs + s);
  for (const Ns pause : pauses(evidence.steps, evidence)) EXPECT_EQ(pause, kNoDuration);
}

TEST(Pauses, HostileTimesOverflowNothing) {
  Evidence evidence;
  for (const Ns start : {INT64_MIN + 1, Ns{-5}, Ns{0}, INT64_MAX - 1, INT64_MAX})
    for (const Ns duration : {Ns{0}, INT64_MAX})
      evidence.steps.append(kNoName, 0, static_cast<int32_t>(evidence.steps.size()), start,
                            duration);
  evidence.events.push_back({"checkpoint", "job/j", INT64_MIN + 1, INT64_MAX, {}, "test"});
  for (const Ns pause : pauses(evidence.steps, evidence)) EXPECT_GE(pause, kNoDuration);
  (void)diagnose(evidence);
}

}  // namespace
}  // namespace firstwait
