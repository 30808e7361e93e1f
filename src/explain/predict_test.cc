#include "explain/predict.h"

#include <gtest/gtest.h>

#include "explain/testing/view_builder.h"

namespace firstwait {
namespace {

// 4 workers at 18 ms a sample feed 222 samples/s; 64 samples in a step of 0.288 s.
ViewBuilder loader_bound() {
  ViewBuilder b(false);
  b.phase(Phase::input_wait, 0.168, 0).phase(Phase::forward, 0.12, 0);
  auto& t = b.evidence().steps;
  for (int i = 0; i < 20; ++i) {
    const size_t row =
        t.append(kNoName, 0, i, ViewBuilder::kBefore + i * ViewBuilder::kSecond, 288'000'000);
    t.set_number(t.samples, row, 64);
    t.set_number(t.bytes, row, 64e6);
    t.set_number(t.loader_workers, row, 4);
    t.set_loader(row, LoaderWork::transform, 64 * 18'000'000);
  }
  b.attribution().ranks.ranks = {0};
  return b;
}

TEST(Predict, MoreWorkersHelpUntilTheGpuBinds) {
  const auto b = loader_bound();
  const Report report;
  const auto p = predict(b.view(), report, "loader.more_workers", {{"loader.num_workers", 12}}, {});
  EXPECT_NEAR(p.speedup.hi, 0.288 / 0.120, 0.01);
  EXPECT_EQ(p.then_bound_by, "gpu");
}

TEST(Predict, AnAssumedStorageRateMayBindFirst) {
  const auto b = loader_bound();
  const Report report;
  const auto p = predict(b.view(), report, "loader.more_workers", {{"loader.num_workers", 12}},
                         {{"storage.read_bytes_per_second", 300e6}});
  EXPECT_EQ(p.then_bound_by, "storage");
  EXPECT_NEAR(p.speedup.hi, 300 / (64 / 0.288), 0.01);
}

TEST(Predict, MoreWorkersDoNotHelpWhileTheStorageIsAtItsCeiling) {
  const auto b = loader_bound();
  Report report;
  Finding f;
  f.cause = "storage.throughput_ceiling";
  f.confidence = 0.9;
  report.findings.push_back(f);
  const auto p = predict(b.view(), report, "loader.more_workers", {{"loader.num_workers", 12}}, {});
  EXPECT_EQ(p.then_bound_by, "storage");
  EXPECT_NEAR(p.speedup.hi, 1, 0.01);
}

TEST(Predict, WithoutLoaderTimesItSaysWhatIsMissing) {
  ViewBuilder b(false);
  b.phase(Phase::input_wait, 0.1, 0).phase(Phase::forward, 0.1, 0);
  const Report report;
  const auto p = predict(b.view(), report, "loader.more_workers", {{"loader.num_workers", 12}}, {});
  EXPECT_TRUE(std::isnan(p.speedup.hi));
  EXPECT_FALSE(p.missing.empty());
}

}  // namespace
}  // namespace firstwait
