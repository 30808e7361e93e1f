#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

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

}  // namespace
}  // namespace firstwait
