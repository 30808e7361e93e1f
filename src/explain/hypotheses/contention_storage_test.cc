#include <gtest/gtest.h>

#include <algorithm>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_contention_storage;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_contention_storage, text); }

TEST(ContentionStorage, ServerServesOthers) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "setting job/j dataset.fstype = nfs\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a "
      "100 -> 40\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 0.3 -> 2.4\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 100e6 -> 40e6\n"
      "counter firstwait_storage_read_bytes_total storage/n:/e 110e6 -> 480e6\n"
      "event neighbour_start job/b -5 workload_kind=backup\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_GE(v.llr, 5);
}

TEST(ContentionStorage, AClientDoesNotSeeTheServersOtherClients) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "setting job/j dataset.fstype = nfs\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a "
      "100 -> 40\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 0.3 -> 2.4\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 100e6 -> 40e6\n"
      "counter firstwait_process_read_bytes_total{rank=0} host/a 100e6 -> 40e6\n"
      "event neighbour_start storage/n:/e -5 workload_kind=backup owner=team-b\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_GE(v.llr, 2);
  EXPECT_TRUE(std::find(v.where.begin(), v.where.end(), "owner/team-b") != v.where.end());
  for (const auto& place : v.where) EXPECT_NE(place.find('/'), std::string::npos) << place;
}

TEST(ContentionStorage, ADiskThatIsHardlyBusyIsNobodys) {
  const std::string use =
      "pattern chronic\n"
      "phase input_wait 0.40\n"
      "phase backward 0.10\n"
      "counter node_disk_read_bytes_total{device=vda} host/a 200e3\n"
      "counter node_disk_reads_completed_total{device=vda} host/a 20\n"
      "counter node_disk_read_time_seconds_total{device=vda} host/a 0.004\n"
      "counter firstwait_process_read_bytes_total{rank=0} host/a 0\n";
  const auto idle = test(use + "counter node_disk_io_time_seconds_total{device=vda} host/a 0.01\n");
  EXPECT_EQ(idle.outcome, Outcome::refuted);
  EXPECT_NE(idle.reason.find("busy"), std::string::npos) << idle.reason;
  const auto busy = test(use + "counter node_disk_io_time_seconds_total{device=vda} host/a 0.99\n");
  EXPECT_NE(busy.outcome, Outcome::refuted) << busy.reason;
}

TEST(ContentionStorage, OthersReadLittle) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "setting job/j dataset.fstype = nfs\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a "
      "100 -> 490\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 0.3 -> 9\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 100e6 -> 490e6\n"
      "counter firstwait_storage_read_bytes_total storage/n:/e 114e6 -> 504e6\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(ContentionStorage, NeighbourButReadsAsFastAsBefore) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a "
      "100 -> 100\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 0.3 -> 0.3\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 1e8 -> 1e8\n"
      "event neighbour_start job/b -5\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(ContentionStorage, WithoutNeighbours) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a "
      "100 -> 40\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 0.3 -> 2.4\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 100e6 -> 40e6\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

// The workers sleep, and somebody else keeps the disk busy.
TEST(ContentionStorage, ADiskFromWhichTheJobReadsNothingHoldsNobodyUp) {
  const std::string disk =
      "pattern chronic\n"
      "phase input_wait 0.40\n"
      "phase backward 0.10\n"
      "rank 0 a\n"
      "counter node_disk_read_bytes_total{device=vda} host/a 5e6\n"
      "counter node_disk_reads_completed_total{device=vda} host/a 100\n"
      "counter node_disk_read_time_seconds_total{device=vda} host/a 0.8\n"
      "counter node_disk_io_time_seconds_total{device=vda} host/a 0.5\n"
      "counter firstwait_process_read_bytes_total{role=other} host/a 0.1\n"
      "counter firstwait_process_read_chars_total{role=loader} rank/0 900\n";
  const std::string own = "counter firstwait_process_read_bytes_total{role=loader} rank/0 ";
  EXPECT_EQ(test(disk + own + "1e6\n").outcome, Outcome::supported);
  EXPECT_NE(test(disk + own + "50\n").outcome, Outcome::supported);
}

// A limit of 30 MB/s before the disk, which stays idle: others began to take their part of it.
TEST(ContentionStorage, OthersWhoReadWhatTheJobLostAreSeenThoughTheDiskIsIdle) {
  const std::string job =
      "phase input_wait 0.00 -> 0.24\n"
      "phase backward 0.04 -> 0.04\n"
      "rank 0 a\n"
      "counter node_disk_reads_completed_total{device=vda} host/a 120 -> 120\n"
      "counter node_disk_read_time_seconds_total{device=vda} host/a 0.03 -> 0.03\n"
      "counter node_disk_io_time_seconds_total{device=vda} host/a 0.03 -> 0.015\n"
      "counter firstwait_process_read_bytes_total{role=loader} rank/0 30e6 -> 7e6\n"
      "loader 2 0.4 0.98\n";
  const auto v = test(job + "counter node_disk_read_bytes_total{device=vda} host/a 30e6 -> 30e6\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason;
  EXPECT_GE(v.llr, 3);
  EXPECT_EQ(
      test(job + "counter node_disk_read_bytes_total{device=vda} host/a 30e6 -> 9e6\n").outcome,
      Outcome::refuted)
      << "nobody reads what the job lost";
}

}  // namespace
}  // namespace firstwait
