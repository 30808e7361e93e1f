#include <gtest/gtest.h>

#include "explain/testing/case_file.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_workload_periodic_work;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_workload_periodic_work, text); }

TEST(WorkloadPeriodicWork, ExactPeriod) {
  const auto v = test(
      "pattern periodic 10 3.4\n"
      "steps 500 0.2 every 10 x3.4\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_GE(v.llr, 3.5);
  EXPECT_EQ(v.because, "work that comes every 10 steps makes that step 3.4× as long");
}

TEST(WorkloadPeriodicWork, NoPeriod) {
  const auto v = test(
      "pattern none\n"
      "steps 500 0.2\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(WorkloadPeriodicWork, PeriodOfTheSaves) {
  const auto v = test(
      "pattern periodic 100 9\n"
      "steps 500 0.2 every 100 x9\n"
      "event checkpoint job/j 0 step=0\n"
      "event checkpoint job/j 0 step=100\n"
      "event checkpoint job/j 0 step=200\n"
      "event checkpoint job/j 0 step=300\n"
      "event checkpoint job/j 0 step=400\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(WorkloadPeriodicWork, RoundRobinOfTheLoader) {
  const auto v = test(
      "pattern periodic 8 3\n"
      "steps 500 0.2 every 8 x3\n"
      "setting job/j loader.num_workers = 8\n");
  ASSERT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
  EXPECT_EQ(v.reason, "8 loader workers in turn: a stall every 8 steps is their round robin");
}

TEST(WorkloadPeriodicWork, StartOfEachEpoch) {
  const auto v = test(
      "pattern periodic 50 3\n"
      "steps 500 0.2 every 50 x3 epoch 50\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(WorkloadPeriodicWork, WithoutSteps) {
  const auto v = test(
      "pattern none\n"
      "rank 0 a\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

// Two workers that deliver in turn: a period of 14 is one of 2.
TEST(WorkloadPeriodicWork, StepsThatWaitForInputDoNoWorkOfTheirOwn) {
  for (const bool waits : {true, false}) {
    ViewBuilder b(false);
    auto& a = b.attribution();
    a.pattern.kind = PatternKind::periodic;
    a.pattern.period_steps = 14;
    a.pattern.period_ratio = 3;
    auto& wait = a.steps.ledger[index(Phase::input_wait)];
    for (int32_t i = 0; i < 140; ++i) {
      const bool slow = i % 14 == 0;
      a.steps.step.push_back(i);
      a.steps.time.push_back(slow ? 120'000'000 : 40'000'000);
      wait.push_back(slow && waits ? 85'000'000 : 10'000'000);
      a.steps.segment.push_back(SegmentKind::steady);
    }
    const auto v = hypothesis_workload_periodic_work.test(b.view());
    if (waits) {
      EXPECT_EQ(v.outcome, Outcome::refuted) << v.because;
      EXPECT_EQ(v.reason, "93.8 % of what these steps take longer is waiting for input");
    } else {
      EXPECT_EQ(v.outcome, Outcome::supported) << v.reason;
    }
  }
}

}  // namespace
}  // namespace firstwait
