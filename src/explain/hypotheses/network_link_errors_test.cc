#include <gtest/gtest.h>

#include "explain/placing.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_network_link_errors;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_network_link_errors.test(b.view()); }

ViewBuilder symbols(double before, double now) {
  ViewBuilder b;
  b.phase(Phase::collective, 0.5, 0.1);
  b.counter("node_infiniband_symbol_error_total", "host/a", before, now,
            {{"device", "mlx5_3"}, {"port", "1"}});
  return b;
}

TEST(NetworkLinkErrors, ManySymbolErrorsSinceTheOnsetAreAccused) {
  const auto v = test(symbols(0, 1));
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.where.front(), "nic/a:mlx5_3");
  EXPECT_GT(v.llr, kStrong);
}

TEST(NetworkLinkErrors, WhatAGoodLinkMayShowIsRefuted) {
  EXPECT_EQ(test(symbols(0, 0.01)).outcome, Outcome::refuted);
}

TEST(NetworkLinkErrors, ErrorsAsBeforeExplainNoChange) {
  EXPECT_LT(test(symbols(1, 1)).llr, test(symbols(0, 1)).llr - 3);
}

TEST(NetworkLinkErrors, OldErrorsAreNotNew) {
  EXPECT_EQ(test(symbols(1, 0)).outcome, Outcome::refuted);
}

TEST(NetworkLinkErrors, NotWatchedIsUntested) {
  ViewBuilder b;
  EXPECT_EQ(test(b.phase(Phase::collective, 0.5, 0.1)).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
