#include <gtest/gtest.h>

#include "explain/gpu_facts.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_gpu_nvlink_degraded;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_gpu_nvlink_degraded.test(b.view()); }

TEST(GpuNvlinkDegraded, ADownLinkIsAccused) {
  ViewBuilder b(false);
  b.phase(Phase::collective, 0.3, 0).setting("gpu/a:0", "nvlink.links_active", "17");
  b.setting("gpu/a:1", "nvlink.links_active", "18");
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.where.front(), "gpu/a:0");
  EXPECT_EQ(v.because, "GPU 0 of a: 17 of 18 NVLinks are active");
}

TEST(GpuNvlinkDegraded, CrcErrorsCountFromAHundredPerSecond) {
  ViewBuilder many, few;
  many.phase(Phase::collective, 0.3, 0.1)
      .counter("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "gpu/a:0", 0, 500);
  few.phase(Phase::collective, 0.3, 0.1)
      .counter("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "gpu/a:0", 0, 5);
  EXPECT_EQ(test(many).outcome, Outcome::supported);
  EXPECT_EQ(test(few).outcome, Outcome::refuted);
  EXPECT_EQ(test(few).reason, "5.0 CRC errors per second on NVLink, 100 would matter");
}

TEST(GpuNvlinkDegraded, WaitingForALateRankContradicts) {
  ViewBuilder b(false);
  b.phase(Phase::collective, 0.3, 0).setting("gpu/a:0", "nvlink.links_active", "17");
  b.setting("gpu/a:1", "nvlink.links_active", "18");
  const double alone = test(b).llr;
  b.attribution().collective_wait_s = 0.28;
  b.attribution().collective_transfer_s = 0.02;
  EXPECT_LT(test(b).llr, alone - 1.5);
}

TEST(GpuNvlinkDegraded, AllLinksActiveIsRefuted) {
  ViewBuilder b(false);
  b.phase(Phase::collective, 0.3, 0).setting("gpu/a:0", "nvlink.links_active", "18");
  b.setting("gpu/a:1", "nvlink.links_active", "18");
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(GpuNvlinkDegraded, LongCollectivesAloneSayNothing) {
  ViewBuilder b;
  EXPECT_EQ(test(b.phase(Phase::collective, 0.3, 0.1)).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
