#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_change_config;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_change_config, text); }

TEST(ChangeConfig, EventAtTheOnsetThatActsOnWhatGrew) {
  const auto v = test(
      "phase input_wait 0.1 -> 0.4\n"
      "event config_change host/a -10 to=b\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_GE(v.llr, 3);
}

TEST(ChangeConfig, TimeAloneIsModerate) {
  const auto v = test(
      "phase checkpoint 0.1 -> 0.4\n"
      "event config_change host/a -10 to=b\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_LE(v.llr, 2);
}

TEST(ChangeConfig, EventLongBefore) {
  const auto v = test(
      "phase input_wait 0.1 -> 0.4\n"
      "event config_change host/a -400 to=b\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(ChangeConfig, SettingThatChangedAtTheOnset) {
  const auto v = test(
      "phase input_wait 0.1 -> 0.4\n"
      "setting host/a loader.num_workers = 1\n"
      "setting@onset host/a loader.num_workers = 2\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
}

TEST(ChangeConfig, SettingOfAnotherKind) {
  const auto v = test(
      "phase input_wait 0.1 -> 0.4\n"
      "setting host/a unrelated = 1\n"
      "setting@onset host/a unrelated = 2\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

TEST(ChangeConfig, NothingRecorded) {
  const auto v = test("phase input_wait 0.1 -> 0.4\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
