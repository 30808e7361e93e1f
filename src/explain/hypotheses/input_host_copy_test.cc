#include <gtest/gtest.h>

#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_input_host_copy;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_input_host_copy.test(b.view()); }

ViewBuilder copies(double h2d) {
  ViewBuilder b(false);
  b.phase(Phase::h2d, h2d, 0).phase(Phase::backward, 0.1, 0);
  return b;
}

TEST(InputHostCopy, PageableCopiesThatTakeTime) {
  auto b = copies(0.05);
  TraceFacts t;
  t.h2d_pageable = true;
  t.h2d_bytes = 150e6;
  t.h2d_copy_s = 0.05;
  b.attribution().traces.push_back(t);
  b.setting("gpu/a:0", "pcie.link_gen", "3").setting("gpu/a:0", "pcie.link_width", "16");
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_GE(v.llr, 3.5);
}

TEST(InputHostCopy, PageableCopiesThatTakeNoTimeAreRefuted) {
  auto b = copies(0.001);
  TraceFacts t;
  t.h2d_pageable = true;
  b.attribution().traces.push_back(t);
  const auto v = test(b);
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_EQ(v.reason, "copying to the device is 0.99 % of the step");
}

TEST(InputHostCopy, UnpinnedLoaderAloneIsUntested) {
  ViewBuilder b(false);
  b.setting("job/j", "loader.pin_memory", "False");
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
