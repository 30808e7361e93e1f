#include "explain/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/stats.h"

namespace firstwait {
namespace {

Report run_of(const std::vector<double>& steps, double input_share) {
  Report r;
  auto& a = r.attribution;
  a.level = EvidenceLevel::phases;
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto ns = static_cast<Ns>(steps[i] * 1e9);
    a.steps.step.push_back(static_cast<int32_t>(i));
    a.steps.start.push_back(kNoTime);
    a.steps.time.push_back(ns);
    a.steps.critical_rank.push_back(-1);
    a.steps.segment.push_back(SegmentKind::steady);
    a.steps.outlier.push_back(0);
    for (auto& column : a.steps.ledger) column.push_back(0);
    const auto wait = static_cast<Ns>(static_cast<double>(ns) * input_share);
    a.steps.ledger[index(Phase::input_wait)].back() = wait;
    a.steps.ledger[index(Phase::forward)].back() = ns - wait;
  }
  return r;
}

TEST(Compare, TellsMeanMedianIntervalAndThePhaseThatChanged) {
  const Evidence none;
  const Report before = run_of({0.17, 0.18, 0.17, 0.175, 0.17, 0.18}, 0.4);
  const Report after = run_of({0.12, 0.12, 0.12, 0.125, 0.12, 0.18}, 0.02);
  const auto c = compare({"a", none, before}, {"b", none, after});
  EXPECT_NEAR(c.speedup_mean, (0.17 * 3 + 0.175 + 0.36) / (0.12 * 4 + 0.125 + 0.18), 1e-9);
  EXPECT_NEAR(c.speedup_median, 0.1725 / 0.12, 1e-9);
  EXPECT_LT(c.speedup_ci.lo, c.speedup_mean);
  EXPECT_GT(c.speedup_ci.hi, c.speedup_mean);
  ASSERT_TRUE(c.distinguishable.has_value());
  EXPECT_TRUE(*c.distinguishable);
  EXPECT_EQ(c.phases.front().phase, Phase::input_wait);
}

TEST(Compare, EqualSamplesAreNotDistinguishable) {
  const Evidence none;
  const Report r = run_of({0.1, 0.11, 0.12, 0.1, 0.11}, 0.1);
  const auto c = compare({"a", none, r}, {"b", none, r});
  ASSERT_TRUE(c.distinguishable.has_value());
  EXPECT_FALSE(*c.distinguishable);
}

TEST(Compare, TooFewStepsLeaveTheAnswerOpen) {
  const Evidence none;
  const Report before = run_of({0.2, 0.2}, 0.1), after = run_of({0.1, 0.1}, 0.1);
  EXPECT_FALSE(compare({"a", none, before}, {"b", none, after}).distinguishable.has_value());
}

TEST(Compare, NothingToCompareIsSaid) {
  const Evidence none;
  const Report empty;
  const auto c = compare({"a", none, empty}, {"b", none, empty});
  EXPECT_NE(c.headline.find("Cannot compare"), std::string::npos);
  EXPECT_TRUE(std::isnan(c.speedup_mean));
}

TEST(Compare, SeesTheChangeBehindTwoOutliersOfSix) {
  const auto before = run_of({0.164, 0.174, 0.176, 0.1765, 0.177, 0.181}, 0.4),
             after = run_of({0.116, 0.124, 0.126, 0.127, 0.163, 0.182}, 0.02);
  Evidence none;
  const auto c = compare({"a", none, before}, {"b", none, after});
  ASSERT_TRUE(c.distinguishable.has_value());
  EXPECT_TRUE(*c.distinguishable);
  EXPECT_GT(c.speedup_ci.lo, 1);
}

// Step times around 0.4 s that follow a first-order autoregression.
std::vector<double> wandering(uint64_t seed, double coefficient, double scale = 1) {
  Random random(seed);
  std::vector<double> out;
  double x = 0;
  for (int i = 0; i < 200; ++i) {
    x = coefficient * x + (coefficient > 0 ? 0.02 * random.normal() : 0);
    out.push_back(scale * 0.4 * std::exp(x + 0.05 * random.normal()));
  }
  return out;
}

TEST(Compare, TheSameProcessTwiceIsRarelyDistinguishableHoweverItsStepsWander) {
  const Evidence none;
  for (const double coefficient : {0.0, 0.9, 0.95, 0.99}) {
    int differs = 0, open = 0;
    for (uint64_t seed = 0; seed < 120; ++seed) {
      const Report a = run_of(wandering(2 * seed, coefficient), 0.1),
                   b = run_of(wandering(2 * seed + 1, coefficient), 0.1);
      const auto c = compare({"a", none, a}, {"b", none, b});
      open += c.distinguishable ? 0 : 1;
      if (!c.distinguishable) continue;
      differs += *c.distinguishable ? 1 : 0;
      EXPECT_EQ(*c.distinguishable, c.speedup_ci.lo > 1 || c.speedup_ci.hi < 1);
    }
    EXPECT_LE(differs, coefficient < 0.99 ? 120 / 12 : 120 / 8) << coefficient;
    EXPECT_EQ(open > 60, coefficient == 0.99) << coefficient << ": " << open;
  }
}

TEST(Compare, AGreatChangeIsSeenThoughTheStepsWander) {
  const Evidence none;
  int seen = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Report a = run_of(wandering(2 * seed, 0.9), 0.1),
                 b = run_of(wandering(2 * seed + 1, 0.9, 0.75), 0.1);
    seen += compare({"a", none, a}, {"b", none, b}).distinguishable.value_or(false) ? 1 : 0;
  }
  EXPECT_GE(seen, 36);
}

TEST(Compare, StepsThatAllResembleTheOneBeforeAreTooFew) {
  const Evidence none;
  std::vector<double> drifting;
  for (int i = 0; i < 200; ++i) drifting.push_back(0.4 + 0.0005 * i);
  const Report a = run_of(drifting, 0.1), b = run_of(wandering(1, 0), 0.1);
  const auto c = compare({"a", none, a}, {"b", none, b});
  EXPECT_FALSE(c.distinguishable.has_value());
  EXPECT_FALSE(c.speedup_ci.known());
  EXPECT_THAT(c.headline, testing::HasSubstr("Too few independent steps"));
}

TEST(Compare, OneEndlessStepDoesNotHideTheChangeOfAllOthers) {
  const Evidence none;
  auto after = wandering(2, 0, 0.75);
  after[50] = 100;
  const Report a = run_of(wandering(1, 0), 0.1), b = run_of(after, 0.1);
  const auto c = compare({"a", none, a}, {"b", none, b});
  EXPECT_EQ(c.ci_of, "median");
  EXPECT_TRUE(c.distinguishable.value_or(false));
  EXPECT_NEAR(c.speedup_ci.lo, 1.31, 0.03);
}

TEST(Compare, AJobOfAnotherNameIsNoOtherSetting) {
  Evidence before, after;
  before.settings.push_back({"job/a", "loader.num_workers", "4", "", kNoTime});
  after.settings.push_back({"job/b", "loader.num_workers", "4", "", kNoTime});
  const Report none;
  EXPECT_TRUE(compare({"a", before, none}, {"b", after, none}).settings.empty());
}

TEST(Compare, NamesSettingsThatDiffer) {
  Evidence before, after;
  before.settings.push_back({"rank/0", "loader.num_workers", "0", "", kNoTime});
  after.settings.push_back({"rank/0", "loader.num_workers", "4", "", kNoTime});
  after.settings.push_back({"rank/0", "loader.pin_memory", "true", "", kNoTime});
  const Report r = run_of({0.1, 0.1}, 0.1);
  const auto c = compare({"a", before, r}, {"b", after, r});
  ASSERT_EQ(c.settings.size(), 2u);
  EXPECT_EQ(c.settings[0].before, "0");
  EXPECT_EQ(c.settings[1].before, "");
}

}  // namespace
}  // namespace firstwait
