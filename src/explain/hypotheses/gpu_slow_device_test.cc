#include <gtest/gtest.h>

#include "explain/gpu_facts.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_gpu_slow_device;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_gpu_slow_device.test(b.view()); }

ViewBuilder job(double slow, double persistence = 0.95, bool gpus_known = true) {
  ViewBuilder b(false);
  b.phase(Phase::forward, 0.1 * slow, 0).phase(Phase::backward, 0.2 * slow, 0);
  for (int r = 0; r < 4; ++r) {
    b.rank(r, "a");
    if (gpus_known) b.evidence().rank(r).gpu = "a:" + std::to_string(r);
    RankStat s{.rank = r, .ratio_to_peers = r == 2 ? slow : 1.0};
    s.persistence = r == 2 ? persistence : 0;
    s.phase_s[index(Phase::forward)] = 0.1 * (r == 2 ? slow : 1);
    s.phase_s[index(Phase::backward)] = 0.2 * (r == 2 ? slow : 1);
    b.attribution().rank_stats.push_back(s);
  }
  return b;
}

TEST(GpuSlowDevice, LongerComputingOnEqualWorkIsAccused) {
  const auto v = test(job(1.5));
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.where.front(), "rank/2");
  EXPECT_EQ(v.where[1], "gpu/a:2");
  ASSERT_TRUE(v.effect);
  EXPECT_NEAR(v.effect->interval.hi, 0.15, 1e-9);
}

TEST(GpuSlowDevice, AnOlderModelAmongNewerIsStrong) {
  auto b = job(1.8);
  for (int r = 0; r < 4; ++r)
    b.setting("gpu/a:" + std::to_string(r), "gpu.model", r == 2 ? "Tesla V100" : "A100");
  EXPECT_GT(test(b).llr, kStrong);
  EXPECT_EQ(test(b).because, "rank 2 runs on Tesla V100, others on A100");
}

TEST(GpuSlowDevice, TheUsualSpreadOfEqualGpusIsNoFault) {
  EXPECT_EQ(test(job(1.06)).outcome, Outcome::refuted);
}

TEST(GpuSlowDevice, AKnownReasonTakesItsPlace) {
  auto b = job(1.5);
  b.gauge("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "gpu/a:2", 0x40, 0x40);
  EXPECT_LT(test(b).llr, test(job(1.5)).llr - 1.5);
}

TEST(GpuSlowDevice, ADeviceThatIsNoBusierThanItsPeersDoesNotWorkLonger) {
  const auto with = [](double own) {
    auto b = job(1.5);
    for (int r = 0; r < 4; ++r)
      b.gauge("DCGM_FI_DEV_GPU_UTIL", "gpu/a:" + std::to_string(r), 90, r == 2 ? own : 66);
    return test(b).llr;
  };
  EXPECT_EQ(with(95), test(job(1.5)).llr);
  EXPECT_LT(with(60), 0) << "the process is held up, not the device";
}

TEST(GpuSlowDevice, NowAndThenIsNotTheDevice) {
  EXPECT_LT(test(job(1.5, 0.2)).llr, test(job(1.5)).llr - 2);
}

TEST(GpuSlowDevice, ALongerPipelineStageIsNotCompared) {
  auto b = job(1.5);
  for (int r = 0; r < 4; ++r) b.evidence().rank(r).stage = r;
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

TEST(GpuSlowDevice, WithoutTheDevicesItIsUntested) {
  EXPECT_EQ(test(job(1.5, 0.95, false)).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
