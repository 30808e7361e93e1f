#include <gtest/gtest.h>

#include "explain/gpu_facts.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_gpu_nvlink_absent;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_gpu_nvlink_absent.test(b.view()); }

ViewBuilder job() {
  ViewBuilder b(false);
  b.phase(Phase::collective, 0.3, 0).phase(Phase::forward, 0.1, 0).rank(0, "a").rank(1, "a");
  return b;
}

TEST(GpuNvlinkAbsent, PeerToPeerSwitchedOffIsAccused) {
  const auto v = test(job().setting("rank/0", "env.NCCL_P2P_DISABLE", "1"));
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.because, "NCCL_P2P_DISABLE=1 keeps the GPUs of a host from talking directly");
}

TEST(GpuNvlinkAbsent, TheLogConfirmsTheSetting) {
  auto b = job();
  b.setting("rank/0", "env.NCCL_P2P_DISABLE", "1")
      .setting("rank/0", "nccl.transport", "SHM/direct/direct");
  EXPECT_GT(test(b).llr, kStrong);
}

TEST(GpuNvlinkAbsent, ASwitchThatIsOffSaysNothing) {
  EXPECT_EQ(test(job().setting("rank/0", "env.NCCL_P2P_DISABLE", "0")).outcome, Outcome::untested);
}

TEST(GpuNvlinkAbsent, OneRankPerHostNeedsNoNvlink) {
  ViewBuilder b(false);
  b.phase(Phase::collective, 0.3, 0)
      .rank(0, "a")
      .rank(1, "b")
      .setting("rank/0", "env.NCCL_P2P_DISABLE", "1");
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(GpuNvlinkAbsent, PeerToPeerTransportRefutes) {
  EXPECT_EQ(test(job().setting("job/x", "nccl.transport", "P2P/IPC/read")).outcome,
            Outcome::refuted);
}

TEST(GpuNvlinkAbsent, ModelsWithoutNvlinkAreNotAccused) {
  auto b = job();
  b.setting("gpu/a:0", "nvlink.links_active", "0").setting("gpu/a:1", "nvlink.links_active", "0");
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
