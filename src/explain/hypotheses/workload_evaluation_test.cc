#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_workload_evaluation;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_workload_evaluation, text); }

TEST(WorkloadEvaluation, SlowStepsAreEvaluations) {
  const auto v = test(
      "pattern intermittent\n"
      "steps 300 0.5 at 50,150,250 x20\n"
      "event evaluation job/j -500 step=50\n"
      "event evaluation job/j -400 step=150\n"
      "event evaluation job/j -300 step=250\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
}

TEST(WorkloadEvaluation, EvaluationsCostNothing) {
  const auto v = test(
      "pattern none\n"
      "steps 300 0.5\n"
      "event evaluation job/j -500 step=50\n"
      "event evaluation job/j -400 step=150\n"
      "event evaluation job/j -300 step=250\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(WorkloadEvaluation, OneInEveryStepComparesWithNothing) {
  const auto v = test(
      "pattern none\n"
      "steps 3 60\n"
      "event evaluation job/j -500 step=0\n"
      "event evaluation job/j -400 step=1\n"
      "event evaluation job/j -300 step=2\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

TEST(WorkloadEvaluation, EvaluationsThatFallOnStepsThatAreSlowAnywayCostNothing) {
  const auto v = test(
      "pattern periodic 10 3.4\n"
      "steps 500 0.2 every 10 x3.4\n"
      "event evaluation job/j 0 step=100\n"
      "event evaluation job/j 0 step=200\n"
      "event evaluation job/j 0 step=300\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.because;
}

TEST(WorkloadEvaluation, WithoutEvaluations) {
  const auto v = test(
      "pattern none\n"
      "steps 300 0.5\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
