#include <gtest/gtest.h>

#include "explain/gpu_facts.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_gpu_power_cap;
namespace {

constexpr std::string_view kReasons = "DCGM_FI_DEV_CLOCKS_EVENT_REASONS";

Verdict test(const ViewBuilder& b) { return hypothesis_gpu_power_cap.test(b.view()); }

ViewBuilder capped(double power, double limit, double peer_limit, double util = 95) {
  ViewBuilder b(false);
  b.phase(Phase::forward, 0.2, 0).phase(Phase::backward, 0.3, 0);
  for (const char* gpu : {"gpu/a:0", "gpu/a:1", "gpu/a:2"}) {
    const bool bad = std::string_view(gpu) == "gpu/a:0";
    b.gauge(kReasons, gpu, 0, bad ? 0x4 : 0).gauge("DCGM_FI_DEV_GPU_UTIL", gpu, util, util);
    b.gauge("DCGM_FI_DEV_POWER_USAGE", gpu, bad ? power : 600, bad ? power : 600);
    b.gauge("DCGM_FI_DEV_POWER_MGMT_LIMIT", gpu, bad ? limit : peer_limit,
            bad ? limit : peer_limit);
    b.gauge("DCGM_FI_DEV_SM_CLOCK", gpu, bad ? 1300 : 1900, bad ? 1300 : 1900);
    b.gauge(kReasons, "unrelated", 0, 0);
  }
  // One job from the start: the baseline of the clock is its peers.
  return b;
}

// As an nvidia-smi query of an idle machine with a failed power supply shows it.
TEST(GpuPowerCap, PowerBrakeOnAllGpusOfAnIdleMachineIsAFact) {
  ViewBuilder b(false);
  for (int g = 0; g < 8; ++g) {
    const std::string gpu = "gpu/h100:" + std::to_string(g);
    b.gauge(kReasons, gpu, 0x88, 0x88).gauge("DCGM_FI_DEV_GPU_UTIL", gpu, 0, 0);
    b.gauge("DCGM_FI_DEV_POWER_USAGE", gpu, 70, 70).gauge("DCGM_FI_DEV_SM_CLOCK", gpu, 1980, 1980);
  }
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_GE(v.llr, 5);
  EXPECT_FALSE(v.effect);
  EXPECT_EQ(v.where.size(), 9u);  // eight GPUs and their host
  EXPECT_EQ(v.because,
            "each of 8 GPUs of h100 is held down by the power brake of the system's power supply");
}

TEST(GpuPowerCap, LoweredLimitIsAccused) {
  const auto v = test(capped(395, 400, 700));
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.where.front(), "gpu/a:0");
  EXPECT_EQ(v.because, "GPU 0 of a is limited to 400 of 700 W");
  ASSERT_TRUE(v.effect);
  EXPECT_NEAR(v.effect->interval.hi, 0.5 * (1 - 1300.0 / 1900), 1e-9);
}

TEST(GpuPowerCap, CapAtFullPowerIsNormal) {
  const auto v = test(capped(695, 700, 700));
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_EQ(v.reason, "GPU 0 of a draws 695 of its 700 W: a power cap there is normal");
}

TEST(GpuPowerCap, CapFarBelowTheLimitIsAFault) {
  const auto v = test(capped(300, 700, 700));
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.because, "GPU 0 of a is capped at 300 of 700 W");
}

TEST(GpuPowerCap, IdleGpuBelowItsLimitIsNotAccused) {
  EXPECT_EQ(test(capped(70, 700, 700, 0)).outcome, Outcome::refuted);
}

TEST(GpuPowerCap, BrakeWithoutSlowerComputingIsNotTheCause) {
  ViewBuilder b;
  b.phase(Phase::input_wait, 0.5, 0.01).phase(Phase::forward, 0.1, 0.1);
  b.gauge(kReasons, "gpu/a:0", 0, 0x80);
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(GpuPowerCap, WithoutReasonsItIsUntested) {
  ViewBuilder b;
  b.phase(Phase::forward, 0.2, 0.1).gauge("DCGM_FI_DEV_POWER_USAGE", "gpu/a:0", 500, 300);
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
