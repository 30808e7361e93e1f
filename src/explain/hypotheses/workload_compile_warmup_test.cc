#include <gtest/gtest.h>

#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_workload_compile_warmup;
namespace {

// `count` steps of 0.1 s; the first `slow` take 20 s and are marked as warm-up.
ViewBuilder run(int count, int slow) {
  ViewBuilder b(false);
  auto& s = b.attribution().steps;
  for (int i = 0; i < count; ++i) {
    s.step.push_back(i);
    s.start.push_back(kNoTime);
    s.time.push_back(i < slow ? 20'000'000'000 : 100'000'000);
    s.segment.push_back(i < slow ? SegmentKind::warmup : SegmentKind::steady);
  }
  return b;
}

TEST(WorkloadCompileWarmup, ShortRunThatMostlyStarts) {
  const auto v = hypothesis_workload_compile_warmup.test(run(100, 1).view());
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.effect->seconds_per_step, 0);  // the steps after it are not slower
  EXPECT_NEAR(v.effect->interval.hi, 19.9 / 100, 1e-6);
}

TEST(WorkloadCompileWarmup, LongRunHidesItsStart) {
  EXPECT_EQ(hypothesis_workload_compile_warmup.test(run(20000, 1).view()).outcome,
            Outcome::refuted);
}

TEST(WorkloadCompileWarmup, ProfileOfARunningJobHoldsNoStart) {
  auto b = run(6, 1);
  b.attribution().traces.emplace_back();
  EXPECT_EQ(hypothesis_workload_compile_warmup.test(b.view()).outcome, Outcome::untested);
}

TEST(WorkloadCompileWarmup, StartNotRecorded) {
  EXPECT_EQ(hypothesis_workload_compile_warmup.test(run(100, 0).view()).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
