#include <gtest/gtest.h>

#include "explain/gpu_facts.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_gpu_clocks_limited;
namespace {

constexpr std::string_view kReasons = "DCGM_FI_DEV_CLOCKS_EVENT_REASONS";

Verdict test(const ViewBuilder& b) { return hypothesis_gpu_clocks_limited.test(b.view()); }

ViewBuilder two_gpus(double clock, double reasons, double util = 95) {
  ViewBuilder b(false);
  b.phase(Phase::forward, 0.2, 0).phase(Phase::backward, 0.3, 0);
  b.gauge(kReasons, "gpu/a:0", reasons, reasons).gauge(kReasons, "gpu/a:1", 0, 0);
  b.gauge("DCGM_FI_DEV_SM_CLOCK", "gpu/a:0", clock, clock)
      .gauge("DCGM_FI_DEV_SM_CLOCK", "gpu/a:1", 1980, 1980);
  b.gauge("DCGM_FI_DEV_GPU_UTIL", "gpu/a:0", util, util)
      .gauge("DCGM_FI_DEV_GPU_UTIL", "gpu/a:1", util, util);
  return b;
}

TEST(GpuClocksLimited, ApplicationClocksBelowPeersAreAccused) {
  const auto v = test(two_gpus(1000, 0x2));
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_GE(v.llr, kStrong);
  EXPECT_EQ(v.where.front(), "gpu/a:0");
  ASSERT_TRUE(v.effect);
  EXPECT_NEAR(v.effect->interval.hi, 0.5 * (1 - 1000.0 / 1980), 1e-9);
}

TEST(GpuClocksLimited, LockedClocksOnAllGpusAreKnownByTheirSetting) {
  auto b = two_gpus(1200, 0);
  for (auto& s : b.evidence().series)
    for (auto& v : s.value)
      if (v == 1980) v = 1200;
  for (const char* gpu : {"gpu/a:0", "gpu/a:1"})
    b.setting(gpu, "gpu.clocks_limit", "1200 MHz")
        .gauge("DCGM_FI_DEV_MAX_SM_CLOCK", gpu, 1980, 1980);
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.because, "GPU 0 of a: its clock limit is 1200 of 1980 MHz");
}

TEST(GpuClocksLimited, LowClockWithoutAReasonIsOnlySuspected) {
  const auto v = test(two_gpus(1000, 0));
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_LE(v.llr, kWeak);
}

TEST(GpuClocksLimited, HeatIsNotASetting) {
  EXPECT_EQ(test(two_gpus(1000, 0x40)).outcome, Outcome::refuted);
}

TEST(GpuClocksLimited, FullClockIsRefutedWithTheNumber) {
  const auto v = test(two_gpus(1960, 0x2));
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_EQ(v.reason, "GPU 0 of a runs at 1960 of 1980 MHz under load");
}

TEST(GpuClocksLimited, IdleClocksAreNeverJudged) {
  EXPECT_EQ(test(two_gpus(345, 0x1, 0)).outcome, Outcome::untested);
  EXPECT_EQ(test(two_gpus(345, 0x2, 0)).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
