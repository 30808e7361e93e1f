#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_storage_iops_ceiling;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_storage_iops_ceiling, text); }

TEST(StorageIopsCeiling, SmallReadsAtTheKnownLimit) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "setting host/a storage.read_iops = 3000\n"
      "counter node_disk_read_bytes_total{device=nvme1n1} host/a 2e6 -> 12e6\n"
      "counter node_disk_reads_completed_total{device=nvme1n1} host/a 500 -> 2990\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_GE(v.llr, 4);
}

TEST(StorageIopsCeiling, LargeReadsAreNotBoundByTheirNumber) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "setting host/a storage.read_iops = 3000\n"
      "counter node_disk_read_bytes_total{device=nvme1n1} host/a 2e8 -> 12e8\n"
      "counter node_disk_reads_completed_total{device=nvme1n1} host/a 500 -> 2990\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

TEST(StorageIopsCeiling, BusyNvmeProvesNothing) {
  const auto v = test(
      "pattern chronic\n"
      "phase input_wait 0.40\n"
      "phase backward 0.10\n"
      "counter node_disk_read_bytes_total{device=nvme0n1} host/a 4e6\n"
      "counter node_disk_reads_completed_total{device=nvme0n1} host/a 1000\n"
      "counter node_disk_read_time_seconds_total{device=nvme0n1} host/a 0.1\n"
      "counter node_disk_io_time_seconds_total{device=nvme0n1} host/a 0.99\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

TEST(StorageIopsCeiling, BusySpinningDiskWithSlowReads) {
  const auto v = test(
      "pattern chronic\n"
      "phase input_wait 0.40\n"
      "phase backward 0.10\n"
      "counter node_disk_read_bytes_total{device=sda} host/a 4e6\n"
      "counter node_disk_reads_completed_total{device=sda} host/a 130\n"
      "counter node_disk_read_time_seconds_total{device=sda} host/a 3.9\n"
      "counter node_disk_io_time_seconds_total{device=sda} host/a 0.99\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
}

TEST(StorageIopsCeiling, WithoutStorageMetrics) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

// 61 of 68: the kernel lets six pass in each tenth of a second.
TEST(StorageIopsCeiling, ALimitOnTheRanksControlGroupIsGrantedInWholeRequests) {
  const std::string job =
      "phase input_wait 0.0 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "rank 0-1 a\n"
      "setting rank/0 storage.read_iops = 68\n"
      "setting rank/1 storage.read_iops = 68\n"
      "loader 2 0.7 0.98\n"
      "counter node_disk_read_bytes_total{device=vda} host/a 4e6 -> 1e6\n"
      "counter node_disk_io_time_seconds_total{device=vda} host/a 0.1 -> 0.001\n"
      "counter node_disk_read_time_seconds_total{device=vda} host/a 0.05 -> 0.02\n";
  const auto v =
      test(job + "counter node_disk_reads_completed_total{device=vda} host/a 480 -> 122\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_EQ(v.where.front(), "rank/0");
  EXPECT_NE(
      test(job + "counter node_disk_reads_completed_total{device=vda} host/a 480 -> 100\n").outcome,
      Outcome::supported)
      << "50 of 68 is not at the limit";
}

}  // namespace
}  // namespace firstwait
