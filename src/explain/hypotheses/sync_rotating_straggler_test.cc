#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_sync_rotating_straggler;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_sync_rotating_straggler.test(b.view()); }

// Eight ranks of 0.1 s own work over 100 steps; `late` names the rank that takes twice that, or -1.
ViewBuilder job(const std::function<int32_t(int32_t step)>& late) {
  ViewBuilder b(false);
  auto& a = b.attribution();
  constexpr int32_t kSteps = 100, kRanks = 8;
  a.ranks.steps = kSteps;
  for (int32_t r = 0; r < kRanks; ++r) a.ranks.ranks.push_back(r);
  for (int32_t r = 0; r < kRanks; ++r)
    for (int32_t s = 0; s < kSteps; ++s)
      a.ranks.own_time.push_back(late(s) == r ? 200'000'000 : 100'000'000);
  for (int32_t s = 0; s < kSteps; ++s) {
    a.steps.step.push_back(s);
    a.steps.time.push_back(220'000'000);
    a.steps.segment.push_back(SegmentKind::steady);
  }
  return b;
}

TEST(SyncRotatingStraggler, TheLateRankChanges) {
  const auto v = test(job([](int32_t s) { return s % 3 == 0 ? (s * 5) % 8 : -1; }));
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_GE(v.llr, 3);
  EXPECT_NEAR(v.effect->seconds_per_step, 0.034, 1e-6);
}

TEST(SyncRotatingStraggler, OneLateRankIsAPersistentOne) {
  const auto v = test(job([](int32_t s) { return s % 3 == 0 ? 5 : -1; }));
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_THAT(v.reason, testing::HasSubstr("rank 5"));
}

TEST(SyncRotatingStraggler, AFewLateStepsCostNothing) {
  EXPECT_EQ(test(job([](int32_t s) { return s % 40 == 0 ? s % 8 : -1; })).outcome,
            Outcome::refuted);
}

TEST(SyncRotatingStraggler, InAPipelineTheLastToArriveIsNotTheSlowOne) {
  auto b = job([](int32_t s) { return s % 3 == 0 ? (s * 5) % 8 : -1; });
  b.attribution().what_if = WhatIf{};
  b.attribution().what_if->by_stage = {1, 1};
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

TEST(SyncRotatingStraggler, WithoutOwnTimesItIsUntested) {
  EXPECT_EQ(test(ViewBuilder(false)).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
