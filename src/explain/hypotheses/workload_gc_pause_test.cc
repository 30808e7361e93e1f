#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_workload_gc_pause;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_workload_gc_pause, text); }

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

TEST(WorkloadGcPause, AsMuchAsBeforeIsACostOfItsOwnAndNoCauseOfTheChange) {
  const auto v = test(
      "phase gc 0.05 -> 0.05\n"
      "phase backward 0.1 -> 0.4\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_TRUE(v.throughout);
  EXPECT_LE(v.llr, 2);
}

TEST(WorkloadGcPause, NotRecorded) {
  const auto v = test("phase unexplained 0.1 -> 0.4\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
