#include <gtest/gtest.h>

#include "explain/testing/case_file.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_storage_cold_cache;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_storage_cold_cache, text); }

TEST(StorageColdCache, FirstEpochSlowReadsEnd) {
  const auto v = test(
      "pattern none\n"
      "steps 100 0.1 at 0,1,2,3,4,5,6,7,8,9 x10 epoch 10\n"
      "counter node_disk_read_bytes_total{device=sda} host/a 10\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_GT(v.effect->seconds_per_step, 0);
}

// 1.5 times as slow is less than attributable by itself; that the reads dried up decides.
TEST(StorageColdCache, AFirstEpochWhoseReadsDryUp) {
  for (const bool dries : {true, false}) {
    ViewBuilder b(false);
    b.phase(Phase::input_wait, 0.001, 0).phase(Phase::backward, 0.5, 0);
    auto& e = b.evidence();
    auto& t = e.steps;
    Ns at = ViewBuilder::kBefore;
    for (int32_t s = 0; s < 1200; ++s) {
      const Ns time = (s < 300 ? 15 : 10) * ViewBuilder::kSecond / 10;
      t.epoch[t.append(kNoName, 0, s, at, time)] = s / 300;
      at += time;
    }
    Series reads;
    reads.metric = e.names.intern("node_disk_read_bytes_total");
    reads.entity = e.names.intern("host/a");
    reads.labels = {{e.names.intern("device"), e.names.intern("sda")}};
    double total = 0;
    for (Ns time = ViewBuilder::kBefore; time < at; time += 15 * ViewBuilder::kSecond) {
      total += !dries || time < ViewBuilder::kBefore + 450 * ViewBuilder::kSecond ? 15e8 : 15;
      reads.time.push_back(time);
      reads.value.push_back(total);
    }
    e.series.push_back(reads);
    const auto v = hypothesis_storage_cold_cache.test(b.view());
    EXPECT_EQ(v.outcome == Outcome::supported, dries) << v.reason;
    if (dries) {
      EXPECT_NEAR(v.effect->seconds_per_step, 0.125, 0.01);
    }
  }
}

TEST(StorageColdCache, EpochsAlike) {
  const auto v = test(
      "pattern none\n"
      "steps 100 0.1 epoch 10\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(StorageColdCache, SetLargerThanMemory) {
  const auto v = test(
      "pattern chronic\n"
      "phase input_wait 0.40\n"
      "phase backward 0.10\n"
      "setting job/j dataset.bytes = 2e12\n"
      "gauge node_memory_MemTotal_bytes host/a 256e9\n"
      "counter node_disk_read_bytes_total{device=sda} host/a 1e9\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
}

TEST(StorageColdCache, SetThatFitsRefutes) {
  const auto v = test(
      "pattern chronic\n"
      "phase input_wait 0.40\n"
      "phase backward 0.10\n"
      "setting job/j dataset.bytes = 2e9\n"
      "gauge node_memory_MemTotal_bytes host/a 256e9\n"
      "counter node_disk_read_bytes_total{device=sda} host/a 1e9\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(StorageColdCache, WithoutEpochsAndSizes) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

// A first epoch in which something else slowed the job, with its wait for input recorded.
TEST(StorageColdCache, AFirstEpochThatDoesNotWaitForInputIsSlowForOtherReasons) {
  for (const bool waits : {true, false}) {
    ViewBuilder b(false);
    b.phase(Phase::input_wait, 0.001, 0).phase(Phase::backward, 0.1, 0);
    auto& t = b.evidence().steps;
    Ns at = ViewBuilder::kBefore;
    for (int32_t s = 0; s < 400; ++s) {
      const bool first = s < 100;
      const Ns time = (first ? 3 : 1) * ViewBuilder::kSecond / 10;
      const auto row = t.append(kNoName, 0, s, at, time);
      t.epoch[row] = s / 100;
      t.set_phase(row, Phase::input_wait, first && waits ? 200'000'000 : 1'000'000);
      at += time;
    }
    b.counter("node_disk_read_bytes_total", "host/a", 0, 0, {{"device", "sda"}});
    const auto v = hypothesis_storage_cold_cache.test(b.view());
    EXPECT_EQ(v.outcome == Outcome::supported, waits) << v.reason << v.because;
  }
}

}  // namespace
}  // namespace firstwait
