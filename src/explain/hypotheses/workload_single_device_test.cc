#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_workload_single_device;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_workload_single_device, text); }

TEST(WorkloadSingleDevice, OneWorksAnotherHoldsMemory) {
  const auto v = test(
      "pattern none\n"
      "gauge DCGM_FI_DEV_GPU_UTIL gpu/a:0 96\n"
      "gauge DCGM_FI_DEV_GPU_UTIL gpu/a:1 0\n"
      "gauge DCGM_FI_DEV_FB_USED gpu/a:0 30000\n"
      "gauge DCGM_FI_DEV_FB_USED gpu/a:1 4000\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
}

TEST(WorkloadSingleDevice, UnusedGpusHoldNoMemory) {
  const auto v = test(
      "pattern none\n"
      "gauge DCGM_FI_DEV_GPU_UTIL gpu/a:0 96\n"
      "gauge DCGM_FI_DEV_GPU_UTIL gpu/a:1 0\n"
      "gauge DCGM_FI_DEV_FB_USED gpu/a:0 30000\n"
      "gauge DCGM_FI_DEV_FB_USED gpu/a:1 5\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(WorkloadSingleDevice, AllWork) {
  const auto v = test(
      "pattern none\n"
      "gauge DCGM_FI_DEV_GPU_UTIL gpu/a:0 96\n"
      "gauge DCGM_FI_DEV_GPU_UTIL gpu/a:1 90\n"
      "gauge DCGM_FI_DEV_FB_USED gpu/a:0 30000\n"
      "gauge DCGM_FI_DEV_FB_USED gpu/a:1 4000\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(WorkloadSingleDevice, WithoutUtilization) {
  const auto v = test(
      "pattern none\n"
      "rank 0 a\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
