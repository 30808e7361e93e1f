#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_storage_capacity;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_storage_capacity, text); }

TEST(StorageCapacity, NearlyFull) {
  const auto v = test(
      "pattern chronic\n"
      "phase input_wait 0.40\n"
      "phase backward 0.10\n"
      "setting job/j dataset.path = /data/set\n"
      "gauge node_filesystem_size_bytes{mountpoint=/data} host/a 1e12\n"
      "gauge node_filesystem_avail_bytes{mountpoint=/data} host/a 1e10\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_LE(v.llr, 2);
}

TEST(StorageCapacity, AnotherMountIsFull) {
  const auto v = test(
      "pattern chronic\n"
      "phase input_wait 0.40\n"
      "phase backward 0.10\n"
      "setting job/j dataset.path = /data/set\n"
      "gauge node_filesystem_size_bytes{mountpoint=/data} host/a 1e12\n"
      "gauge node_filesystem_avail_bytes{mountpoint=/data} host/a 5e11\n"
      "gauge node_filesystem_size_bytes{mountpoint=/var} host/a 1e12\n"
      "gauge node_filesystem_avail_bytes{mountpoint=/var} host/a 1e9\n");
  ASSERT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
  EXPECT_EQ(v.reason, "50 % of /data is free");
}

TEST(StorageCapacity, WithoutUsage) {
  const auto v = test(
      "pattern chronic\n"
      "phase input_wait 0.40\n"
      "phase backward 0.10\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
