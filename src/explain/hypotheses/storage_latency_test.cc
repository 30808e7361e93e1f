#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_storage_latency;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_storage_latency, text); }

TEST(StorageLatency, ADiskThatIsHardlyBusyDelaysNobody) {
  const auto v = test(
      "phase input_wait 0.40\n"
      "phase backward 0.10\n"
      "counter node_disk_read_bytes_total{device=vda} host/a 200e3\n"
      "counter node_disk_reads_completed_total{device=vda} host/a 20\n"
      "counter node_disk_read_time_seconds_total{device=vda} host/a 1.2\n"
      "counter node_disk_io_time_seconds_total{device=vda} host/a 0.01\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason;
}

TEST(StorageLatency, ReadsTakeMuchLongerAtALowerRate) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a "
      "400 -> 100\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 1.2 -> 3\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 400e6 -> 100e6\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_GE(v.llr, 3);
  EXPECT_EQ(v.because, "a read from n:/e takes 30 ms instead of 3 ms");
}

TEST(StorageLatency, ReadsTakeAsLongAsBefore) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a "
      "400 -> 100\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 1.2 -> 0.3\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 400e6 -> 100e6\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(StorageLatency, QueueAtACeilingIsAnothersCause) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a 14 "
      "-> 498\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 0.04 -> 18\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 14e6 -> 498e6\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(StorageLatency, ChronicWaitWithReadersInsideReads) {
  const auto v = test(
      "pattern chronic\n"
      "phase input_wait 0.40\n"
      "phase backward 0.10\n"
      "rank 0 a\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a "
      "300\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 6\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 30e6\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_LE(v.llr, 3);
}

TEST(StorageLatency, WorkersThatComputeRefute) {
  const auto v = test(
      "pattern chronic\n"
      "phase input_wait 0.40\n"
      "phase backward 0.10\n"
      "rank 0 a\n"
      "loader 4 1.9 0.02\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a "
      "300\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 6\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 30e6\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(StorageLatency, WithoutStorageMetrics) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

TEST(StorageLatency, ARemoteFileSystemWithoutCountersIsJudgedByItsReaders) {
  const std::string wait =
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "setting rank/0 dataset.fstype = fuse.s3fs\n"
      "setting rank/0 dataset.device = s3fs\n";
  const auto v = test(wait + "loader 2 0.9 0.95\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_GE(v.llr, 3);
  EXPECT_EQ(v.where.front(), "storage/s3fs");
  EXPECT_EQ(test(wait + "loader 2 0.9 0.10\n").outcome, Outcome::refuted);
}

}  // namespace
}  // namespace firstwait
