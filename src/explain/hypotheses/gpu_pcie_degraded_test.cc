#include <gtest/gtest.h>

#include "explain/gpu_facts.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_gpu_pcie_degraded;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_gpu_pcie_degraded.test(b.view()); }

ViewBuilder gpus_with_width(double first, double others, double util = 90) {
  ViewBuilder b(false);
  b.phase(Phase::h2d, 0.2, 0).phase(Phase::forward, 0.2, 0);
  for (const char* gpu : {"gpu/a:0", "gpu/a:1", "gpu/a:2"}) {
    const double width = std::string_view(gpu) == "gpu/a:0" ? first : others;
    b.gauge("DCGM_FI_DEV_PCIE_LINK_GEN", gpu, 4, 4)
        .gauge("DCGM_FI_DEV_PCIE_LINK_WIDTH", gpu, width, width);
    b.setting(gpu, "pcie.link_gen_max", "4").setting(gpu, "pcie.link_width_max", "16x");
    b.gauge("DCGM_FI_DEV_GPU_UTIL", gpu, util, util);
  }
  return b;
}

TEST(GpuPcieDegraded, NarrowerThanItsPeersUnderLoadIsAccused) {
  const auto v = test(gpus_with_width(4, 16));
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_GE(v.llr, kStrong);
  EXPECT_EQ(v.where.front(), "gpu/a:0");
  EXPECT_EQ(v.because, "the PCIe link of GPU 0 of a runs at Gen4 x4 of Gen4 x16 under load");
  ASSERT_TRUE(v.effect);
  EXPECT_NEAR(v.effect->interval.hi, 0.2 * 0.75, 1e-9);
}

TEST(GpuPcieDegraded, AllNarrowAlikeIsOnlyWeak) {
  const auto v = test(gpus_with_width(8, 8));
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_LE(v.llr, kWeak);
}

TEST(GpuPcieDegraded, IdleLinksAreNeverJudged) {
  EXPECT_EQ(test(gpus_with_width(1, 16, 0)).outcome, Outcome::untested);
}

TEST(GpuPcieDegraded, FullWidthUnderLoadIsRefuted) {
  const auto v = test(gpus_with_width(16, 16));
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_EQ(v.reason, "all 3 PCIe links run at Gen4 x16 under load");
}

TEST(GpuPcieDegraded, ARootPortAt2Point5GTIsNoGpu) {
  ViewBuilder b(false);
  b.phase(Phase::h2d, 0.2, 0);
  b.setting("host/a", "pcie.link_gen", "1").setting("host/a", "pcie.link_gen_max", "4");
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

TEST(GpuPcieDegraded, ManyReplaysSinceTheOnsetAreAccused) {
  ViewBuilder b;
  b.phase(Phase::h2d, 0.2, 0.01).counter("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "gpu/a:0", 0, 5);
  EXPECT_EQ(test(b).outcome, Outcome::supported);
}

TEST(GpuPcieDegraded, AFewReplaysAreNormal) {
  ViewBuilder b;
  b.phase(Phase::h2d, 0.2, 0.01).counter("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "gpu/a:0", 0.01, 0.02);
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(GpuPcieDegraded, NothingKnownIsUntested) {
  ViewBuilder b;
  EXPECT_EQ(test(b.phase(Phase::h2d, 0.2, 0.01)).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
