#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_healthy_compute_bound;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_healthy_compute_bound, text); }

TEST(HealthyComputeBound, ComputesAllTheTime) {
  const auto v = test(
      "pattern none\n"
      "phase backward 0.95\n"
      "phase input_wait 0.01\n"
      "productive 0.95\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
}

TEST(HealthyComputeBound, WaitsHalfOfTheTime) {
  const auto v = test(
      "pattern chronic\n"
      "phase backward 0.5\n"
      "phase input_wait 0.5\n"
      "productive 0.5\n");
  ASSERT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
  EXPECT_EQ(v.reason, "only 50 % of the step computes");
}

TEST(HealthyComputeBound, ComputesMoreThanBefore) {
  const auto v = test(
      "phase backward 0.1 -> 0.5\n"
      "productive 0.99\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(HealthyComputeBound, NotMeasured) {
  const auto v = test("phase unexplained 0.1 -> 0.5\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
