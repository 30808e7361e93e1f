#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_workload_scaling_limit;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_workload_scaling_limit, text); }

TEST(WorkloadScalingLimit, TwiceTheGpusAtTwiceTheStep) {
  const auto v = test(
      "phase collective 0.05 -> 0.30\n"
      "phase backward 0.25 -> 0.25\n"
      "setting job/j world_size = 8\n"
      "setting@onset job/j world_size = 16\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
}

TEST(WorkloadScalingLimit, TwiceTheGpusAtTheSameStep) {
  const auto v = test(
      "phase collective 0.05 -> 0.08\n"
      "phase backward 0.25 -> 0.25\n"
      "setting job/j world_size = 8\n"
      "setting@onset job/j world_size = 16\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(WorkloadScalingLimit, OneSizeOnly) {
  const auto v = test(
      "phase collective 0.05 -> 0.30\n"
      "setting job/j world_size = 8\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
