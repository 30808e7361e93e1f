#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "explain/testing/case_file.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_storage_throughput_ceiling;
namespace {

Verdict test(const std::string& text) {
  return test_case(hypothesis_storage_throughput_ceiling, text);
}

TEST(StorageThroughputCeiling, RateAtTheKnownLimit) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "setting storage/n:/e storage.read_bytes_per_second = 500e6\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a 14 "
      "-> 498\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 0.04 -> 18\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 14e6 -> 498e6\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_GE(v.llr, 4);
  EXPECT_EQ(v.where.front(), "storage/n:/e");
}

TEST(StorageThroughputCeiling, RateBelowTheKnownLimit) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "setting storage/n:/e storage.read_bytes_per_second = 500e6\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a 14 "
      "-> 200\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 0.04 -> 18\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 14e6 -> 200e6\n");
  ASSERT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
  EXPECT_EQ(v.reason, "reads at 40 % of the limit");
}

TEST(StorageThroughputCeiling, FlatRateWithAQueueBehindIt) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a "
      "100 -> 490\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 0.3 -> 18\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 100e6 -> 490e6\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_GE(v.llr, 3);
}

TEST(StorageThroughputCeiling, FlatRateWithoutAQueueIsTheDemand) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a "
      "100 -> 490\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 0.3 -> 1.5\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 100e6 -> 490e6\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(StorageThroughputCeiling, SlowerReadsAtALowerRateAreNoCeiling) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a "
      "400 -> 100\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 1.2 -> 3\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 400e6 -> 100e6\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(StorageThroughputCeiling, NoWaitForInput) {
  const auto v = test(
      "phase input_wait 0.01 -> 0.01\n"
      "phase backward 0.1 -> 0.4\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a 14 "
      "-> 498\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 0.04 -> 18\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 14e6 -> 498e6\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(StorageThroughputCeiling, WithoutStorageMetrics) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

constexpr const char* kIdleDisk =
    "phase input_wait 0.02 -> 0.40\n"
    "phase backward 0.10 -> 0.10\n"
    "rank 0 a\n"
    "loader 2 0.9 0.95\n"
    "counter node_disk_read_bytes_total{device=vda} host/a 12e6 -> 3.5e6\n"
    "counter node_disk_reads_completed_total{device=vda} host/a 100 -> 30\n"
    "counter node_disk_read_time_seconds_total{device=vda} host/a 0.02 -> 0.005\n"
    "counter node_disk_io_time_seconds_total{device=vda} host/a 0.02 -> 0.005\n"
    "counter firstwait_process_read_bytes_total{role=loader} rank/0 12e6 -> 3.5e6\n";

TEST(StorageThroughputCeiling, ALimitOnTheRanksControlGroup) {
  const auto v =
      test(std::string(kIdleDisk) + "setting rank/0 storage.read_bytes_per_second = 3500000\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_GE(v.llr, 5);
  EXPECT_EQ(v.where.front(), "rank/0");
}

TEST(StorageThroughputCeiling, ALimitThatIsNotReached) {
  const auto v =
      test(std::string(kIdleDisk) + "setting rank/0 storage.read_bytes_per_second = 35000000\n");
  EXPECT_LT(v.llr, 3) << v.because;
}

TEST(StorageThroughputCeiling, ReadsThatAnIdleDiskDoesNotKnowOfAreHeldBackBeforeIt) {
  const auto v = test(kIdleDisk);
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_THAT(v.because, testing::HasSubstr("a limit before the disk"));
}

TEST(StorageThroughputCeiling, RanksInOneControlGroupFillItsLimitTogether) {
  ViewBuilder b;
  b.phase(Phase::input_wait, 0.4, 0.001).phase(Phase::backward, 0.1, 0.1);
  for (int32_t r = 0; r < 2; ++r) {
    const std::string rank = "rank/" + std::to_string(r);
    b.rank(r, "a").setting(rank, "storage.read_bytes_per_second", "7000000");
    b.evidence().settings.back().source = "/sys/fs/cgroup/blkio/job/blkio.throttle.read_bps_device";
    b.counter("firstwait_process_read_bytes_total", rank, 9e6, 3.5e6, {{"role", "loader"}});
  }
  EXPECT_EQ(hypothesis_storage_throughput_ceiling.test(b.view()).outcome, Outcome::supported);
  b.evidence().settings.back().source = "/sys/fs/cgroup/blkio/other/blkio.throttle.read_bps_device";
  EXPECT_NE(hypothesis_storage_throughput_ceiling.test(b.view()).outcome, Outcome::supported)
      << "each in a group of its own reads half of what it may";
}

}  // namespace
}  // namespace firstwait
