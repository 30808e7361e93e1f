#include <gtest/gtest.h>

#include "explain/gpu_facts.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_gpu_thermal_throttle;
namespace {

constexpr std::string_view kReasons = "DCGM_FI_DEV_CLOCKS_EVENT_REASONS";

Verdict test(const ViewBuilder& b) { return hypothesis_gpu_thermal_throttle.test(b.view()); }

// GPU 0 of host a gets hot at the onset; GPU 1 does not.
ViewBuilder hot_gpu(double reasons_before = 0, double clock_now = 1200) {
  ViewBuilder b;
  b.phase(Phase::forward, 0.10, 0.06)
      .phase(Phase::backward, 0.20, 0.12)
      .phase(Phase::optimizer, 0.01, 0.01);
  b.rank(0, "a").rank(1, "a");
  b.evidence().rank(0).gpu = "a:0";
  b.evidence().rank(1).gpu = "a:1";
  b.gauge(kReasons, "gpu/a:0", reasons_before, 0x40).gauge(kReasons, "gpu/a:1", 0, 0);
  b.gauge("DCGM_FI_DEV_SM_CLOCK", "gpu/a:0", 1980, clock_now)
      .gauge("DCGM_FI_DEV_SM_CLOCK", "gpu/a:1", 1980, 1980);
  b.gauge("DCGM_FI_DEV_GPU_UTIL", "gpu/a:0", 95, 98)
      .gauge("DCGM_FI_DEV_GPU_UTIL", "gpu/a:1", 95, 90);
  b.gauge("DCGM_FI_DEV_GPU_TEMP", "gpu/a:0", 70, 89)
      .gauge("DCGM_FI_DEV_GPU_TEMP", "gpu/a:1", 68, 69);
  return b;
}

TEST(GpuThermalThrottle, HotGpuWithLowClockIsAccused) {
  const auto v = test(hot_gpu());
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_GT(v.llr, kVeryStrong - 0.1);
  EXPECT_EQ(v.where.front(), "rank/0");
  EXPECT_EQ(v.where[1], "gpu/a:0");
  ASSERT_TRUE(v.effect);
  // At most the computing that the clock stretches: 0.31 s * (1 - 1200/1980) = 0.122 s.
  EXPECT_NEAR(v.effect->interval.hi, 0.1203, 0.003);
  EXPECT_TRUE(std::isnan(v.effect->interval.lo));
  EXPECT_EQ(v.because, "GPU 0 of a is slowed by heat in 100 % of the samples");
}

TEST(GpuThermalThrottle, SlowRankElsewhereContradicts) {
  auto b = hot_gpu();
  b.attribution().rank_stats.push_back({.rank = 1, .ratio_to_peers = 1.6});
  b.evidence().rank(2).host = "b";
  EXPECT_LT(test(b).llr, test(hot_gpu()).llr - 3);
}

TEST(GpuThermalThrottle, HotBeforeAsWellExplainsNoChange) {
  EXPECT_LT(test(hot_gpu(0x40)).llr, test(hot_gpu()).llr - 1.5);
}

TEST(GpuThermalThrottle, FullClockContradicts) {
  EXPECT_LT(test(hot_gpu(0, 1975)).llr, test(hot_gpu()).llr - 3);
}

TEST(GpuThermalThrottle, CoolGpusAreRefutedWithTheirTemperature) {
  ViewBuilder b;
  b.phase(Phase::forward, 0.2, 0.1);
  b.gauge(kReasons, "gpu/a:0", 0, 0x4).gauge("DCGM_FI_DEV_GPU_TEMP", "gpu/a:0", 60, 71);
  const auto v = test(b);
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_EQ(v.reason, "none of 1 GPUs was slowed by heat; the hottest is at 71 °C");
}

TEST(GpuThermalThrottle, HeatWithoutSlowerComputingIsNotTheCause) {
  ViewBuilder b;
  b.phase(Phase::input_wait, 0.5, 0.01).phase(Phase::forward, 0.1, 0.1);
  b.gauge(kReasons, "gpu/a:0", 0, 0x40);
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(GpuThermalThrottle, AnotherJobsHotGpuIsNotThisJobs) {
  auto b = hot_gpu();
  b.evidence().ranks.erase(0);
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(GpuThermalThrottle, OneIdleSnapshotIsNoEvidenceOfHeat) {
  ViewBuilder b(false);
  b.gauge(kReasons, "gpu/a:0", 0x1, 0x1).gauge("DCGM_FI_DEV_SM_CLOCK", "gpu/a:0", 345, 345);
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(GpuThermalThrottle, WithoutReasonsItIsUntested) {
  ViewBuilder b;
  b.phase(Phase::forward, 0.2, 0.1).gauge("DCGM_FI_DEV_GPU_TEMP", "gpu/a:0", 60, 90);
  EXPECT_EQ(test(b).outcome, Outcome::untested);
  EXPECT_FALSE(test(b).needs.empty());
}

}  // namespace
}  // namespace firstwait
