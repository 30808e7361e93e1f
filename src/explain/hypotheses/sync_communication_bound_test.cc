#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_sync_communication_bound;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_sync_communication_bound.test(b.view()); }

ViewBuilder job(double wait, double transfer) {
  ViewBuilder b(false);
  b.attribution().current_s = 1;
  b.attribution().collective_wait_s = wait;
  b.attribution().collective_transfer_s = transfer;
  return b;
}
// Two ranks, one step, `bytes` each.
void sends(ViewBuilder& b, int64_t bytes) {
  auto& a = b.attribution();
  a.ranks.ranks = {0, 1};
  a.ranks.steps = 1;
  a.steps.step = {0};
  auto& e = b.evidence();
  for (const int32_t r : {0, 1})
    e.collectives.append(r, 0, e.names.intern("dp"), e.names.intern("all_reduce"), 0, 0,
                         400'000'000, bytes, true);
}

TEST(SyncCommunicationBound, TransferThatFillsTheLink) {
  auto b = job(0.01, 0.4);
  sends(b, 360'000'000);
  b.gauge("node_network_speed_bytes", "nic/a:eth0", 1e9, 1e9);
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_GE(v.llr, 5);
}

TEST(SyncCommunicationBound, WaitForALateRankIsNotTransfer) {
  const auto v = test(job(10.0, 0.28));
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_THAT(v.reason, testing::HasSubstr("waiting for late ranks"));
}

TEST(SyncCommunicationBound, AFastTransferIsNoCause) {
  EXPECT_EQ(test(job(0.001, 0.01)).outcome, Outcome::refuted);
}

TEST(SyncCommunicationBound, ALinkThatIsHardlyUsedIsNotTheBound) {
  auto b = job(0.01, 0.4);
  sends(b, 36'000'000);
  b.gauge("node_network_speed_bytes", "nic/a:eth0", 1e9, 1e9);
  const auto v = test(b);
  EXPECT_TRUE(v.outcome == Outcome::refuted || v.llr < 1);
}

TEST(SyncCommunicationBound, WithoutBytesItIsOnlyAPossibility) {
  const auto v = test(job(0.01, 0.4));
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_LE(v.llr, 2);
}

TEST(SyncCommunicationBound, ATenthOfAComputingStepBoundsNothing) {
  auto b = job(0.005, 0.1);
  b.phase(Phase::backward, 0.85, 0).phase(Phase::collective, 0.105, 0);
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

TEST(SyncCommunicationBound, NotWhereAnotherWaitIsLonger) {
  auto b = job(0.01, 0.3);
  b.phase(Phase::input_wait, 0.5, 0).phase(Phase::backward, 0.15, 0);
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::refuted);
  EXPECT_THAT(v.reason, testing::HasSubstr("input wait takes more of the step"));
}

TEST(SyncCommunicationBound, NotWhereOtherTimeGrew) {
  ViewBuilder b;
  b.phase(Phase::collective, 0.41, 0.4).phase(Phase::forward, 0.3, 0.1);
  b.attribution().current_s = 1;
  b.attribution().collective_wait_s = 0.01;
  b.attribution().collective_transfer_s = 0.4;
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::refuted);
  EXPECT_THAT(v.reason, testing::HasSubstr("did not grow"));
}

TEST(SyncCommunicationBound, UnsplitCollectivesDecideNothing) {
  EXPECT_EQ(test(ViewBuilder(false)).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
