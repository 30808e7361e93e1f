#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_workload_batch_too_small;
namespace {

Verdict test(const std::string& text) {
  return test_case(hypothesis_workload_batch_too_small, text);
}

TEST(WorkloadBatchTooSmall, ShortKernelsWithGaps) {
  const auto v = test(
      "pattern none\n"
      "phase backward 0.09\n"
      "phase host 0.03\n"
      "trace launch_gap_s=0.03 median_kernel_s=2e-6 gpu_busy_fraction=0.75 "
      "kernels_per_step=1478\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_LE(v.llr, 2);
  EXPECT_NEAR(v.effect->interval.hi, 0.03, 1e-9);
}

TEST(WorkloadBatchTooSmall, InputWaitOutweighsTheGaps) {
  const auto v = test(
      "pattern chronic\n"
      "phase backward 0.09\n"
      "phase input_wait 0.07\n"
      "phase host 0.01\n"
      "trace launch_gap_s=0.012 median_kernel_s=2e-6 gpu_busy_fraction=0.55\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(WorkloadBatchTooSmall, LongKernelsWithGapsAreNotLaunchBound) {
  const auto v = test(
      "pattern none\n"
      "phase backward 0.09\n"
      "phase host 0.03\n"
      "trace launch_gap_s=0.03 median_kernel_s=5e-4 gpu_busy_fraction=0.75\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(WorkloadBatchTooSmall, NoGaps) {
  const auto v = test(
      "pattern none\n"
      "phase backward 0.09\n"
      "trace launch_gap_s=0.001 median_kernel_s=2e-6 gpu_busy_fraction=0.98\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(WorkloadBatchTooSmall, WithoutATrace) {
  const auto v = test(
      "pattern chronic\n"
      "phase host 0.5\n"
      "phase backward 0.1\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
