#include <gtest/gtest.h>

#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_sync_expert_imbalance;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_sync_expert_imbalance.test(b.view()); }

// Twenty exchanges of four ranks; rank 2 sends `busiest` bytes, the others 1000.
ViewBuilder job(int64_t busiest, std::string_view op = "all_to_all") {
  ViewBuilder b(false);
  b.phase(Phase::collective, 0.3, 0).phase(Phase::backward, 0.2, 0);
  auto& e = b.evidence();
  for (int64_t seq = 0; seq < 20; ++seq)
    for (int32_t r = 0; r < 4; ++r)
      e.collectives.append(r, 1, e.names.intern("ep"), e.names.intern(op), seq, seq * 1000, 500,
                           r == 2 ? busiest : 1000, false);
  return b;
}

TEST(SyncExpertImbalance, OneRankExchangesFarMoreThanTheMean) {
  const auto v = test(job(4000));
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_EQ(v.where.front(), "rank/2");
}

TEST(SyncExpertImbalance, TheImbalanceThatCapacityAbsorbsIsNone) {
  EXPECT_EQ(test(job(1200)).outcome, Outcome::refuted);
}

TEST(SyncExpertImbalance, UnequalBytesOfOtherCollectivesSayNothingOfExperts) {
  EXPECT_EQ(test(job(4000, "all_reduce")).outcome, Outcome::refuted);
}

TEST(SyncExpertImbalance, WhatCostsNothingIsNotAccused) {
  auto b = job(4000);
  b.attribution().ledger.clear();
  b.phase(Phase::collective, 0.001, 0).phase(Phase::backward, 0.5, 0);
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(SyncExpertImbalance, WithoutBytesItIsUntested) {
  EXPECT_EQ(test(ViewBuilder(false)).outcome, Outcome::untested);
  auto b = job(4000);
  for (auto& bytes : b.evidence().collectives.bytes) bytes = -1;
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
