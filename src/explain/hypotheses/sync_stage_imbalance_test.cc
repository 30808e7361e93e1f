#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "explain/testing/op_view.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_sync_stage_imbalance;
namespace {

Verdict test(const View& v) { return hypothesis_sync_stage_imbalance.test(v); }

OpView slow_stage(int32_t slow, int32_t stages = 4) {
  return {2, stages, [slow](int32_t d, int32_t s, int32_t b, int32_t n, bool back) {
            return even(d, s, b, n, back) * (s == slow ? 1.6 : 1);
          }};
}

TEST(SyncStageImbalance, NamesTheLastStage) {
  const auto job = slow_stage(3);
  const auto v = test(job.view());
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_EQ(v.where.front(), "stage/3");
  EXPECT_THAT(v.where, testing::Contains("rank/113"));
  EXPECT_GE(v.llr, 5);
}

TEST(SyncStageImbalance, FollowsTheSlowStage) {
  const auto job = slow_stage(1);
  const auto v = test(job.view());
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_EQ(v.where.front(), "stage/1");
}

TEST(SyncStageImbalance, OneSlowWorkerIsNotItsStage) {
  const OpView job(3, 4, [](int32_t d, int32_t s, int32_t b, int32_t n, bool back) {
    return even(d, s, b, n, back) * (d == 0 && s == 3 ? 2 : 1);
  });
  EXPECT_EQ(test(job.view()).outcome, Outcome::refuted);
}

TEST(SyncStageImbalance, EvenStagesAndASingleStageAreRefuted) {
  const OpView job(2, 4, even);
  EXPECT_EQ(test(job.view()).outcome, Outcome::refuted);
  const auto alone = slow_stage(0, 1);
  EXPECT_EQ(test(alone.view()).outcome, Outcome::refuted);
}

TEST(SyncStageImbalance, WithoutOpRecordsItIsUntested) {
  const ViewBuilder b;
  EXPECT_EQ(test(b.view()).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
