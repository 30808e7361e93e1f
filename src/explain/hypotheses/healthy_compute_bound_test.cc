#include <gtest/gtest.h>

#include "explain/testing/case_file.h"
#include "explain/testing/view_builder.h"

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

ViewBuilder exchanging(double compute, double wait, double transfer) {
  ViewBuilder b(false);
  b.phase(Phase::backward, compute, 0).phase(Phase::collective, wait + transfer, 0);
  b.attribution().current_s = 1;
  b.attribution().pattern.kind = PatternKind::none;
  b.attribution().productive_fraction = compute;
  b.attribution().collective_wait_s = wait;
  b.attribution().collective_transfer_s = transfer;
  return b;
}

TEST(HealthyComputeBound, ExchangingWhatWasComputedIsNoWait) {
  const auto v = hypothesis_healthy_compute_bound.test(exchanging(0.85, 0.01, 0.1).view());
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_EQ(v.because,
            "the GPUs compute 85 % of each step and exchange data for 10 %; nothing waits");
}

TEST(HealthyComputeBound, WaitingForLateRanksAndMostlyExchangingAre) {
  EXPECT_EQ(hypothesis_healthy_compute_bound.test(exchanging(0.7, 0.25, 0.05).view()).outcome,
            Outcome::refuted);
  EXPECT_EQ(hypothesis_healthy_compute_bound.test(exchanging(0.4, 0.02, 0.55).view()).outcome,
            Outcome::refuted);
}

TEST(HealthyComputeBound, NotWhereSavingTakesAThirdOfTheRun) {
  auto b = exchanging(0.95, 0.01, 0.02);
  auto& steps = b.attribution().steps;
  for (int32_t s = 0; s < 20; ++s) {
    steps.step.push_back(s);
    steps.time.push_back(s % 10 == 9 ? 6 * ViewBuilder::kSecond : ViewBuilder::kSecond);
    steps.ledger[index(Phase::checkpoint)].push_back(s % 10 == 9 ? 5 * ViewBuilder::kSecond : 0);
  }
  EXPECT_EQ(hypothesis_healthy_compute_bound.test(b.view()).outcome, Outcome::refuted);
}

TEST(HealthyComputeBound, NotMeasured) {
  const auto v = test("phase unexplained 0.1 -> 0.5\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
