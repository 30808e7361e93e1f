#include "collect/instrument/steps.h"

#include <gtest/gtest.h>

#include "firstwait/emit.h"

namespace firstwait {
namespace {

constexpr uint32_t kThread = 7;
constexpr Ns kMs = 1'000'000;

class Steps : public ::testing::Test {
 protected:
  // Times in milliseconds.
  void span(int phase, Ns start, Ns end, const char* op = "op", int64_t seq = -1,
            int64_t value = -1) {
    InstrumentSpan s{start * kMs, end * kMs, static_cast<uint8_t>(phase), 0, kThread, op, "",
                     seq,         value};
    assembler_.add(s);
  }
  void collective(Ns start, Ns end, int64_t seq) {
    InstrumentSpan s{
        start * kMs, end * kMs, FIRSTWAIT_COLLECTIVE, 0, kThread, "all_reduce", "world", seq, 64};
    assembler_.add(s);
  }
  void step(int64_t number, Ns end) { assembler_.add_step(number, 8, end * kMs, kThread); }
  InstrumentStep only(Ns until = 1'000'000) {
    auto steps = assembler_.take(until * kMs);
    EXPECT_EQ(steps.size(), 1U);
    return steps.empty() ? InstrumentStep{} : steps.back();
  }
  static Ns ms(const InstrumentStep& s, Phase p) {
    const Ns ns = s.phases[index(p)];
    return ns == kNoDuration ? -1 : ns / kMs;
  }
  StepAssembler assembler_{kThread};
};

TEST_F(Steps, OfNestedSpansTheInnerCounts) {
  span(FIRSTWAIT_INPUT_WAIT, 0, 10);
  span(FIRSTWAIT_COLLECTIVE, 15, 18);
  span(FIRSTWAIT_FORWARD, 12, 22);
  span(FIRSTWAIT_BACKWARD, 22, 40);
  span(FIRSTWAIT_OPTIMIZER, 42, 50);
  step(0, 50);
  const InstrumentStep s = only();
  EXPECT_TRUE(s.first);
  EXPECT_EQ(s.duration, 50 * kMs);
  EXPECT_EQ(ms(s, Phase::input_wait), 10);
  EXPECT_EQ(ms(s, Phase::forward), 7);
  EXPECT_EQ(ms(s, Phase::collective), 3);
  EXPECT_EQ(ms(s, Phase::backward), 18);
  EXPECT_EQ(ms(s, Phase::optimizer), 8);
  EXPECT_EQ(ms(s, Phase::unexplained), -1);  // 4 ms stay without a record
}

TEST_F(Steps, AStepBeginsWhereTheOneBeforeEnded) {
  step(0, 50);
  span(FIRSTWAIT_INPUT_WAIT, 45, 60);  // began in the step before
  step(1, 80);
  step(2, 100);
  const auto steps = assembler_.take(90 * kMs);
  ASSERT_EQ(steps.size(), 2U);  // the third has not settled
  EXPECT_EQ(steps[1].start, 50 * kMs);
  EXPECT_EQ(steps[1].duration, 30 * kMs);
  EXPECT_EQ(ms(steps[1], Phase::input_wait), 10);
  EXPECT_FALSE(steps[1].first);
  EXPECT_EQ(only().step, 2);
}

TEST_F(Steps, LoadingInTheTrainingThreadIsInputWaitAndLoaderWork) {
  span(FIRSTWAIT_FETCH, 1, 5);
  span(FIRSTWAIT_TRANSFORM, 5, 8);
  span(FIRSTWAIT_COLLATE, 8, 9);
  span(FIRSTWAIT_INPUT_WAIT, 0, 10);
  step(0, 20);
  const InstrumentStep s = only();
  EXPECT_EQ(ms(s, Phase::input_wait), 10);
  EXPECT_EQ(s.loader[index(LoaderWork::fetch)], 4 * kMs);
  EXPECT_EQ(s.loader[index(LoaderWork::transform)], 3 * kMs);
  EXPECT_EQ(s.loader[index(LoaderWork::collate)], 1 * kMs);
}

TEST_F(Steps, WorkersWorkCountsForTheStepInWhichItEnds) {
  assembler_.add_loader_work(FIRSTWAIT_FETCH, 10 * kMs, 30 * kMs);
  assembler_.add_loader_work(FIRSTWAIT_FETCH, 30 * kMs, 70 * kMs);
  step(0, 50);
  step(1, 100);
  const auto steps = assembler_.take(200 * kMs);
  EXPECT_EQ(steps[0].loader[index(LoaderWork::fetch)], 20 * kMs);
  EXPECT_EQ(steps[1].loader[index(LoaderWork::fetch)], 40 * kMs);
}

TEST_F(Steps, AnEvaluationHoldsItsLoadersWaits) {
  span(FIRSTWAIT_INPUT_WAIT, 0, 10, "DataLoader.__next__", 1);
  span(FIRSTWAIT_EVALUATION, 11, 15);
  span(FIRSTWAIT_INPUT_WAIT, 16, 20, "DataLoader.__next__", 1);
  span(FIRSTWAIT_EVALUATION, 20, 25);
  span(FIRSTWAIT_INPUT_WAIT, 26, 27, "DataLoader.__next__", 1);  // finds it empty
  span(FIRSTWAIT_INPUT_WAIT, 30, 35, "DataLoader.__next__", 0);
  span(FIRSTWAIT_FORWARD, 35, 40);
  step(0, 50);
  const InstrumentStep s = only();
  EXPECT_EQ(ms(s, Phase::evaluation), 27);
  EXPECT_EQ(ms(s, Phase::input_wait), 5);
  EXPECT_EQ(ms(s, Phase::forward), 5);
}

TEST_F(Steps, EpochsAreCountedByTheTrainingsLoader) {
  const auto train = [&](Ns at) {
    span(FIRSTWAIT_INPUT_WAIT, at, at + 1, "DataLoader.__next__", 0);
    span(FIRSTWAIT_FORWARD, at + 1, at + 2);
    step(0, at + 9);
    return only().epoch;
  };
  span(FIRSTWAIT_INPUT_WAIT, 0, 1, "DataLoader.__iter__", 0);
  EXPECT_EQ(train(10), 0);
  EXPECT_EQ(train(20), 0);
  span(FIRSTWAIT_INPUT_WAIT, 30, 31, "DataLoader.__iter__", 1);
  span(FIRSTWAIT_INPUT_WAIT, 31, 32, "DataLoader.__next__", 1);
  span(FIRSTWAIT_EVALUATION, 32, 33);
  span(FIRSTWAIT_INPUT_WAIT, 34, 35, "DataLoader.__iter__", 0);
  EXPECT_EQ(train(40), 1);
}

TEST_F(Steps, CollectivesAndQueueAreTold) {
  span(FIRSTWAIT_INPUT_WAIT, 0, 1, "DataLoader.__next__", 0, 2);
  span(FIRSTWAIT_INPUT_WAIT, 2, 3, "DataLoader.__next__", 0, 3);
  collective(5, 9, 4);
  step(3, 10);
  const InstrumentStep s = only();
  ASSERT_EQ(s.collectives.size(), 1U);
  EXPECT_EQ(s.collectives[0].seq, 4);
  EXPECT_EQ(s.collectives[0].duration, 4 * kMs);
  EXPECT_EQ(s.queued, 2.5);
  EXPECT_EQ(s.samples, 8);
}

TEST_F(Steps, NonsenseIsSurvived) {
  assembler_.add({INT64_MAX, INT64_MIN, 250, 0, kThread, "", "", 0, 0});
  assembler_.add({INT64_MIN, INT64_MAX, FIRSTWAIT_FORWARD, 0, kThread, "", "", 0, 0});
  assembler_.add_loader_work(FIRSTWAIT_FETCH, INT64_MIN, INT64_MAX);
  assembler_.add_loader_work(99, 0, 1);
  assembler_.add_step(0, 0, INT64_MAX, kThread);
  assembler_.add_step(1, 0, INT64_MIN, kThread);
  for (const auto& s : assembler_.take(INT64_MAX)) EXPECT_GE(s.duration, 0);
}

}  // namespace
}  // namespace firstwait
