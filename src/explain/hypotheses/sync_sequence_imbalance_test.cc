#include <gtest/gtest.h>

#include "explain/testing/op_view.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_sync_sequence_imbalance;
namespace {

Verdict test(const View& v) { return hypothesis_sync_sequence_imbalance.test(v); }

// Tokens of a microbatch: the same for all stages of a dp rank.
double length(int32_t dp, int32_t batch, int32_t step) {
  return 1 + 40 * (noise(dp, batch, step, 3) - 1);
}

TEST(SyncSequenceImbalance, ForwardAndBackwardThatVaryTogether) {
  const OpView job(2, 2, [](int32_t d, int32_t s, int32_t b, int32_t n, bool back) {
    return even(d, s, b, n, back) * (1 + 4 * (length(d, b, n) - 1));
  });
  const auto v = test(job.view());
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_GT(v.llr, 3);
}

TEST(SyncSequenceImbalance, OneSlowWorkerCorrelatesOnlyWhenPooled) {
  const OpView job(2, 2, [](int32_t d, int32_t s, int32_t b, int32_t n, bool back) {
    return even(d, s, b, n, back) * (d == 0 && s == 0 ? 2 : 1);
  });
  EXPECT_EQ(test(job.view()).outcome, Outcome::refuted);
}

TEST(SyncSequenceImbalance, SmallVariationIsNoiseHoweverCorrelated) {
  const OpView job(2, 2, [](int32_t d, int32_t s, int32_t b, int32_t n, bool back) {
    return even(d, s, b, n, back) * (1 + 0.1 * (length(d, b, n) - 1)) * (s == 1 ? 1.6 : 1);
  });
  EXPECT_EQ(test(job.view()).outcome, Outcome::refuted);
}

TEST(SyncSequenceImbalance, ForwardAndBackwardThatVaryApartAreNotLengths) {
  const OpView job(2, 2, [](int32_t d, int32_t s, int32_t b, int32_t n, bool back) {
    return (back ? 0.2 : 0.1) * (1 + 80 * (noise(d + 7 * s, b, n, back ? 5 : 6) - 1));
  });
  EXPECT_EQ(test(job.view()).outcome, Outcome::refuted);
}

TEST(SyncSequenceImbalance, WithoutOpRecordsItIsUntested) {
  const ViewBuilder b;
  EXPECT_EQ(test(b.view()).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
