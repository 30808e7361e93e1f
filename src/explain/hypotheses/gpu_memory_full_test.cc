#include <gtest/gtest.h>

#include "explain/gpu_facts.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_gpu_memory_full;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_gpu_memory_full.test(b.view()); }

ViewBuilder memory(double used) {
  ViewBuilder b;
  b.phase(Phase::forward, 0.3, 0.1).gauge("DCGM_FI_DEV_FB_USED", "gpu/a:0", used, used);
  b.gauge("DCGM_FI_DEV_FB_FREE", "gpu/a:0", 80000 - used, 80000 - used);
  return b;
}

TEST(GpuMemoryFull, AllocatorRetriesSinceTheOnsetAreAccused) {
  const auto v =
      test(memory(79500).counter("firstwait_cuda_allocator_retries_total", "rank/0", 0, 0.5));
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_GT(v.llr, kStrong);
  EXPECT_EQ(v.where.front(), "rank/0");
}

TEST(GpuMemoryFull, FullMemoryAloneProvesNothing) {
  EXPECT_EQ(test(memory(79900)).outcome, Outcome::untested);
}

TEST(GpuMemoryFull, HalfEmptyMemoryIsRefutedWithTheNumber) {
  const auto v = test(memory(40000));
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_EQ(v.reason, "at most 50 % of the device memory is used (GPU 0 of a)");
}

TEST(GpuMemoryFull, TheKernelsOomKillerIsAboutHostMemory) {
  ViewBuilder b;
  b.phase(Phase::forward, 0.3, 0.1)
      .event("oom", "host/a", -1, {{"message", "Killed process 4711 (python)"}});
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

TEST(GpuMemoryFull, RetriesAsBeforeExplainNoChange) {
  EXPECT_EQ(
      test(memory(79500).counter("firstwait_cuda_allocator_retries_total", "rank/0", 0.5, 0.5))
          .outcome,
      Outcome::refuted);
}

}  // namespace
}  // namespace firstwait
