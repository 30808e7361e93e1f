#include <gtest/gtest.h>

#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_workload_recompilation;
namespace {

// 100 steps of 0.1 s and 5 s more of compilation in the steps given.
Verdict compiles(const std::vector<size_t>& in) {
  ViewBuilder b(false);
  auto& s = b.attribution().steps;
  s.ledger[index(Phase::compile)].assign(100, 0);
  for (int i = 0; i < 100; ++i) {
    s.step.push_back(i);
    s.time.push_back(100'000'000);
    s.segment.push_back(i == 0 ? SegmentKind::compile : SegmentKind::steady);
  }
  for (const size_t i : in) {
    s.ledger[index(Phase::compile)][i] = 5'000'000'000;
    s.time[i] += 5'000'000'000;
  }
  return hypothesis_workload_recompilation.test(b.view());
}

TEST(WorkloadRecompilation, CompilationReturns) {
  const auto v = compiles({0, 30, 60, 90});
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_NEAR(v.effect->seconds_per_step, 15.0 / 100, 1e-6);
}

TEST(WorkloadRecompilation, FirstCompilationIsExpected) {
  EXPECT_EQ(compiles({0}).outcome, Outcome::refuted);
}

TEST(WorkloadRecompilation, NotRecorded) { EXPECT_EQ(compiles({}).outcome, Outcome::untested); }

}  // namespace
}  // namespace firstwait
