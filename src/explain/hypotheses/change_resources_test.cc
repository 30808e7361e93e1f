#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_change_resources;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_change_resources, text); }

TEST(ChangeResources, EventAtTheOnsetThatActsOnWhatGrew) {
  const auto v = test(
      "phase input_wait 0.1 -> 0.4\n"
      "event resource_change host/a -10 to=b\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_GE(v.llr, 3);
}

TEST(ChangeResources, TimeAloneIsModerate) {
  const auto v = test(
      "phase checkpoint 0.1 -> 0.4\n"
      "event resource_change host/a -10 to=b\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_LE(v.llr, 2);
}

TEST(ChangeResources, EventLongBefore) {
  const auto v = test(
      "phase input_wait 0.1 -> 0.4\n"
      "event resource_change host/a -400 to=b\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(ChangeResources, SettingThatChangedAtTheOnset) {
  const auto v = test(
      "phase input_wait 0.1 -> 0.4\n"
      "setting host/a cpu.quota_cores = 1\n"
      "setting@onset host/a cpu.quota_cores = 2\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
}

TEST(ChangeResources, SettingOfAnotherKind) {
  const auto v = test(
      "phase input_wait 0.1 -> 0.4\n"
      "setting host/a unrelated = 1\n"
      "setting@onset host/a unrelated = 2\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

TEST(ChangeResources, NothingRecorded) {
  const auto v = test("phase input_wait 0.1 -> 0.4\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
