#include <gtest/gtest.h>

#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_input_loading_in_main_thread;
namespace {

Verdict test(const ViewBuilder& b) {
  return hypothesis_input_loading_in_main_thread.test(b.view());
}

ViewBuilder chronic(double input, double rest) {
  ViewBuilder b(false);
  b.phase(Phase::input_wait, input, 0).phase(Phase::backward, rest, 0);
  return b;
}

TEST(InputLoadingInMainThread, TraceThatShowsItIsVeryStrong) {
  auto b = chronic(0.068, 0.107);
  TraceFacts t;
  t.loader_in_main_thread = true;
  t.loader_main_thread_s = 0.068;
  b.attribution().traces.push_back(t);
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_GE(v.llr, 5);
  EXPECT_NEAR(v.effect->interval.hi, 0.068, 1e-9);
  EXPECT_TRUE(std::isnan(v.effect->interval.lo));
}

TEST(InputLoadingInMainThread, SettingAndWaitTogetherSupport) {
  auto b = chronic(0.068, 0.107);
  b.setting("job/a", "loader.num_workers", "0");
  EXPECT_EQ(test(b).outcome, Outcome::supported);
}

TEST(InputLoadingInMainThread, WorkersRefute) {
  auto b = chronic(0.068, 0.107);
  b.setting("job/a", "loader.num_workers", "4");
  const auto v = test(b);
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_EQ(v.reason, "loader.num_workers is 4");
}

TEST(InputLoadingInMainThread, SmallWaitIsNotWorthAnAccusation) {
  auto b = chronic(0.002, 0.120);
  b.setting("job/a", "loader.num_workers", "0");
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(InputLoadingInMainThread, DoesNotExplainGrowthWhenItWasSoBefore) {
  ViewBuilder b;
  b.phase(Phase::input_wait, 0.5, 0.1).phase(Phase::backward, 0.1, 0.1);
  b.setting("job/a", "loader.num_workers", "0");
  EXPECT_NE(test(b).outcome, Outcome::supported);
}

TEST(InputLoadingInMainThread, SettingAloneProvesNothing) {
  ViewBuilder b;
  EXPECT_EQ(test(b).outcome, Outcome::untested);
  b.setting("job/a", "loader.num_workers", "0");
  EXPECT_EQ(test(b).outcome, Outcome::untested);
  EXPECT_FALSE(test(b).needs.empty());
}

}  // namespace
}  // namespace firstwait
