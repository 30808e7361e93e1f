#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_workload_host_sync;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_workload_host_sync, text); }

TEST(WorkloadHostSync, HostTimeGrewWhileBatchesWait) {
  const auto v = test(
      "phase host 0.01 -> 0.9\n"
      "phase backward 0.1 -> 0.1\n"
      "loader 4 0.3 0.1 queued 6\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_GE(v.llr, 3);
}

TEST(WorkloadHostSync, ScalarReadsInATrace) {
  const auto v = test(
      "pattern chronic\n"
      "phase host 0.2\n"
      "phase backward 0.1\n"
      "trace sync_s=0.12 item_calls_per_step=30\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
}

TEST(WorkloadHostSync, NoSynchronisationInTheTrace) {
  const auto v = test(
      "pattern chronic\n"
      "phase host 0.03\n"
      "phase backward 0.1\n"
      "trace sync_s=0.0001 item_calls_per_step=0\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(WorkloadHostSync, HostTimeDidNotGrow) {
  const auto v = test(
      "phase host 0.1 -> 0.1\n"
      "phase backward 0.1 -> 0.4\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(WorkloadHostSync, WithoutPhases) {
  const auto v = test("phase unexplained 0.1 -> 0.4\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
