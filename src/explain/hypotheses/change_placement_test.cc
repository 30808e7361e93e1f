#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_change_placement;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_change_placement, text); }

TEST(ChangePlacement, EventAtTheOnsetThatActsOnWhatGrew) {
  const auto v = test(
      "phase collective 0.1 -> 0.4\n"
      "event placement host/a -10 to=b\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_GE(v.llr, 3);
}

TEST(ChangePlacement, TimeAloneIsModerate) {
  const auto v = test(
      "phase checkpoint 0.1 -> 0.4\n"
      "event placement host/a -10 to=b\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_LE(v.llr, 2);
}

TEST(ChangePlacement, EventLongBefore) {
  const auto v = test(
      "phase collective 0.1 -> 0.4\n"
      "event placement host/a -400 to=b\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(ChangePlacement, SettingThatChangedAtTheOnset) {
  const auto v = test(
      "phase collective 0.1 -> 0.4\n"
      "setting host/a placement.switch = 1\n"
      "setting@onset host/a placement.switch = 2\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
}

TEST(ChangePlacement, SettingOfAnotherKind) {
  const auto v = test(
      "phase collective 0.1 -> 0.4\n"
      "setting host/a unrelated = 1\n"
      "setting@onset host/a unrelated = 2\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

TEST(ChangePlacement, NothingRecorded) {
  const auto v = test("phase collective 0.1 -> 0.4\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
