#include <gtest/gtest.h>

#include "explain/gpu_facts.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_gpu_shared;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_gpu_shared.test(b.view()); }

void uses(ViewBuilder& b, std::string process, std::string gpu, std::string type = "C") {
  b.evidence().relations.push_back({process, "uses", std::move(gpu), "test"});
  b.evidence().entities.push_back(
      {std::move(process), {{"type", std::move(type)}, {"name", "python"}}});
}

ViewBuilder job() {
  ViewBuilder b;
  b.phase(Phase::forward, 0.3, 0.1).rank(0, "a").rank(1, "a");
  b.evidence().rank(0).gpu = "a:0";
  b.evidence().rank(1).gpu = "a:1";
  uses(b, "process/a:100", "gpu/a:0");
  uses(b, "process/a:101", "gpu/a:1");
  return b;
}

TEST(GpuShared, AForeignComputeProcessIsAccused) {
  auto b = job();
  uses(b, "process/a:999", "gpu/a:1");
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.where.front(), "rank/1");
}

TEST(GpuShared, StartingAtTheOnsetMakesItStronger) {
  auto b = job();
  uses(b, "process/a:999", "gpu/a:1");
  const double alone = test(b).llr;
  b.evidence().relations.back().valid_from = ViewBuilder::kOnset - ViewBuilder::kSecond;
  EXPECT_GT(test(b).llr, alone + 0.5);
}

TEST(GpuShared, OneProcessPerGpuIsTheJobItself) {
  EXPECT_EQ(test(job()).outcome, Outcome::refuted);
}

TEST(GpuShared, ADisplayServerComputesNothing) {
  auto b = job();
  uses(b, "process/a:7", "gpu/a:1", "G");
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(GpuShared, ProcessesOfAnUnknownJobAreNotAccused) {
  ViewBuilder b(false);
  uses(b, "process/a:1", "gpu/a:0");
  uses(b, "process/a:2", "gpu/a:0");
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

TEST(GpuShared, AForeignProcessOnAnotherGpuIsNoMatter) {
  auto b = job();
  uses(b, "process/a:999", "gpu/a:7");
  uses(b, "process/a:998", "gpu/a:7");
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

}  // namespace
}  // namespace firstwait
