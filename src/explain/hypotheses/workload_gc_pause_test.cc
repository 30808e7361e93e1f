#include <gtest/gtest.h>

#include "explain/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_workload_gc_pause;
namespace {

// One case in the words of tests/cases.
Verdict test(const std::string& text) {
  const auto cases = read_cases("case\n" + text, "");
  EXPECT_TRUE(cases.at(0).errors.empty());
  return hypothesis_workload_gc_pause.test(cases.at(0).evidence->view());
}

TEST(WorkloadGcPause, CollectionTakesTime) {
  const auto v = test(
      "pattern chronic\n"
      "phase gc 0.05\n"
      "phase backward 0.4\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
}

TEST(WorkloadGcPause, CollectionTakesNone) {
  const auto v = test(
      "pattern chronic\n"
      "phase gc 0.001\n"
      "phase backward 0.4\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(WorkloadGcPause, AsMuchAsBefore) {
  const auto v = test(
      "phase gc 0.05 -> 0.05\n"
      "phase backward 0.1 -> 0.4\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(WorkloadGcPause, NotRecorded) {
  const auto v = test("phase unexplained 0.1 -> 0.4\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
