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

// Saves every ten steps, of 20 ms before step 100 and of 400 ms from there on.
TEST(WorkloadCheckpointStall, SavesThatBecameSlowAreCountedFromThere) {
  ViewBuilder b(false);
  b.phase(Phase::backward, 0.1, 0);
  auto& a = b.attribution();
  a.steps.ledger[index(Phase::checkpoint)].resize(200);
  a.steps.ledger[index(Phase::backward)].assign(200, 100'000'000);
  a.steps.ledger[index(Phase::unexplained)].resize(200);
  for (int32_t s = 0; s < 200; ++s) {
    const Ns save = s % 10 != 9 ? 0 : s < 100 ? 20'000'000 + s * 1000 : 400'000'000;
    a.steps.step.push_back(s);
    a.steps.time.push_back(100'000'000 + save);
    a.steps.segment.push_back(SegmentKind::steady);
    a.steps.ledger[index(Phase::checkpoint)][static_cast<size_t>(s)] = save;
    const auto row = b.evidence().steps.append(kNoName, 0, s, kNoTime, 100'000'000 + save);
    b.evidence().steps.set_phase(row, Phase::checkpoint, save);
    b.evidence().steps.append(kNoName, 1, s, kNoTime, 100'000'000 + save);
  }
  const auto v = hypothesis_workload_checkpoint_stall.test(b.view());
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  ASSERT_TRUE(v.since);
  EXPECT_EQ(v.since->step, 109);
  EXPECT_EQ(v.since->step_lo, 100);
  EXPECT_NEAR(v.effect->seconds_per_step, 0.04, 0.005);
  EXPECT_EQ(v.where.front(), "rank/0") << "the other rank saves nothing";
}

}  // namespace
}  // namespace firstwait
