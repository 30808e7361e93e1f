#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_workload_checkpoint_stall;
namespace {

Verdict test(const std::string& text) {
  return test_case(hypothesis_workload_checkpoint_stall, text);
}

TEST(WorkloadCheckpointStall, SlowStepsAreThoseWithASave) {
  const auto v = test(
      "pattern intermittent\n"
      "steps 300 0.5 at 50,150,250 x20\n"
      "event checkpoint job/j -500 step=50\n"
      "event checkpoint job/j -400 step=150\n"
      "event checkpoint job/j -300 step=250\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_GE(v.llr, 4);
  EXPECT_NEAR(v.effect->seconds_per_step, 3 * 9.5 / 300, 1e-6);
}

TEST(WorkloadCheckpointStall, SavesElsewhere) {
  const auto v = test(
      "pattern intermittent\n"
      "steps 300 0.5 at 50,150,250 x20\n"
      "event checkpoint job/j -500 step=20\n"
      "event checkpoint job/j -400 step=120\n"
      "event checkpoint job/j -300 step=220\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(WorkloadCheckpointStall, OneSaveIsWeaker) {
  const auto v = test(
      "pattern intermittent\n"
      "steps 300 0.5 at 50 x20\n"
      "event checkpoint job/j -500 step=50\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_LE(v.llr, 2);
}

TEST(WorkloadCheckpointStall, SavesByTheirTime) {
  const auto v = test(
      "pattern intermittent\n"
      "steps 300 1 at 50,150,250 x20\n"
      "event checkpoint job/j -549.5\n"
      "event checkpoint job/j -430.5\n"
      "event checkpoint job/j -311.5\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
}

TEST(WorkloadCheckpointStall, PhaseOfTheLedger) {
  const auto v = test(
      "pattern chronic\n"
      "phase checkpoint 0.2\n"
      "phase backward 0.5\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
}

TEST(WorkloadCheckpointStall, WithoutSaves) {
  const auto v = test(
      "pattern intermittent\n"
      "steps 300 0.5 at 50,150,250 x20\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
