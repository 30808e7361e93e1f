#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_workload_logging_stall;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_workload_logging_stall, text); }

TEST(WorkloadLoggingStall, LoggingGrew) {
  const auto v = test(
      "phase logging 0.001 -> 0.2\n"
      "phase backward 0.4 -> 0.4\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
}

TEST(WorkloadLoggingStall, LoggingIsSmall) {
  const auto v = test(
      "phase logging 0.001 -> 0.002\n"
      "phase backward 0.2 -> 0.4\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(WorkloadLoggingStall, NotRecorded) {
  const auto v = test("phase unexplained 0.1 -> 0.4\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
