#include "explain/weigh.h"

#include <gtest/gtest.h>

#include "explain/testing/view_builder.h"

namespace firstwait {
namespace {

EvidenceRow any() { return fact("x", "m", "", 1, "", true); }

TEST(Weigh, NothingDecidingIsUntestedEvenWithHints) {
  Weighing w;
  w.hints(3, any());
  const auto v = std::move(w).verdict("b", {"need"});
  EXPECT_EQ(v.outcome, Outcome::untested);
  EXPECT_EQ(v.needs, std::vector<std::string>{"need"});
}

TEST(Weigh, StrongestContradictionGivesTheReason) {
  Weighing w;
  w.supports(2, any()).contradicts(1, "small", any()).contradicts(4, "large", any());
  const auto v = std::move(w).verdict("b", {});
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_EQ(v.reason, "large");
  EXPECT_DOUBLE_EQ(v.llr, -3);
}

TEST(Weigh, SupportKeepsContradictingRows) {
  Weighing w;
  w.supports(4, any()).contradicts(1, "small", any());
  const auto v = std::move(w).verdict("b", {});
  EXPECT_EQ(v.outcome, Outcome::supported);
  EXPECT_TRUE(v.reason.empty());
  ASSERT_EQ(v.evidence.size(), 2u);
  EXPECT_FALSE(v.evidence[1].supports);
}

TEST(Stake, PhaseThatDidNotGrowIsClear) {
  ViewBuilder b;
  b.phase(Phase::input_wait, 0.3, 0.3).phase(Phase::backward, 0.9, 0.3);
  const auto s = stake(b.view(), {Phase::input_wait});
  EXPECT_EQ(s.state, Stake::State::clear);
  Weighing w;
  EXPECT_FALSE(w.gate(s));
  EXPECT_EQ(std::move(w).verdict("b", {}).reason, "input wait did not grow: 0.300 → 0.300 s");
}

TEST(Stake, SmallShareOfAChronicStepIsClear) {
  ViewBuilder b(false);
  b.phase(Phase::input_wait, 0.01, 0).phase(Phase::backward, 0.99, 0);
  Weighing w;
  EXPECT_FALSE(w.gate(stake(b.view(), {Phase::input_wait})));
  EXPECT_EQ(std::move(w).verdict("b", {}).reason, "input wait is 1 % of the step");
}

TEST(Stake, PhasesThatWereNotRecordedAreUnknown) {
  ViewBuilder b;
  b.phase(Phase::unexplained, 0.9, 0.3);
  EXPECT_EQ(stake(b.view(), {Phase::input_wait}).state, Stake::State::unknown);
  EXPECT_EQ(stake(ViewBuilder().view(), {Phase::input_wait}).state, Stake::State::unknown);
}

TEST(Stake, GrowthIsTheUpperEndOfTheEffect) {
  ViewBuilder b;
  b.phase(Phase::input_wait, 0.5, 0.1).phase(Phase::backward, 0.1, 0.1);
  Weighing w;
  EXPECT_TRUE(w.gate(stake(b.view(), {Phase::input_wait})));
  const auto v = std::move(w.supports(2, any())).verdict("b", {});
  ASSERT_TRUE(v.effect);
  EXPECT_NEAR(v.effect->seconds_per_step, 0.4, 1e-9);
  EXPECT_NEAR(v.effect->interval.hi, 0.4, 1e-9);
  EXPECT_TRUE(std::isnan(v.effect->interval.lo));
}

TEST(Weigh, SettingThatTakesAnotherValueIsAChange) {
  ViewBuilder b;
  b.setting("job/a", "dataset.path", "/nvme").setting("job/a", "dataset.path", "/nfs");
  b.evidence().settings.back().time = ViewBuilder::kOnset;
  const auto c = setting_changes(b.view(), "dataset.");
  ASSERT_EQ(c.size(), 1u);
  EXPECT_EQ(c[0].from->value, "/nvme");
  EXPECT_EQ(c[0].to->value, "/nfs");
}

TEST(Weigh, CoincidenceInTimeStaysModerate) {
  ViewBuilder b;
  b.phase(Phase::backward, 0.9, 0.3);
  EXPECT_LE(coincidence_llr(b.view()), kPositive);
  EXPECT_TRUE(at_onset(b.view(), ViewBuilder::kOnset - 10 * ViewBuilder::kSecond));
  EXPECT_FALSE(at_onset(b.view(), ViewBuilder::kOnset - 300 * ViewBuilder::kSecond));
}

TEST(Weigh, ChangeShowsBothValues) { EXPECT_EQ(change_text(0.002, 0.458), "0.002 → 0.458 s"); }

}  // namespace
}  // namespace firstwait
