#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_diskstats;
namespace {

constexpr const char* kText =
    "   8       0 sda 25354637 34367663 1003346126 18492372 28444756 11134226 505697032 63877960 0 "
    "9653880 82621804\n"
    "   8       1 sda1 250 0 2000 36 0 0 0 0 0 36 36\n"
    "   7       0 loop0 250 0 2000 36 0 0 0 0 0 36 36\n"
    " 259       0 nvme0n1 47114 4 4643973 21650 1078320 43950 39451633 1011053 0 222766 1032546 5 "
    "6 7 8 9 1944\n"
    " 259       1 nvme0n1p1 1140 0 9370 16 1 0 1 0 0 16 16\n";

TEST(Diskstats, SectorsAreBytesTimesAreSecondsAndPartitionsAreLeftOut) {
  Tree tree;
  tree.file("proc/diskstats", kText);
  auto got = Bench(collector_diskstats, tree).sample();
  EXPECT_EQ(got.at("node_disk_read_bytes_total{device=\"sda\"}"), 1003346126 * 512.0);
  EXPECT_EQ(got.at("node_disk_io_time_weighted_seconds_total{device=\"sda\"}"), 82621.804);
  EXPECT_EQ(got.at("node_disk_flush_requests_time_seconds_total{device=\"nvme0n1\"}"), 1.944);
  EXPECT_EQ(got.size(), 11u + 17u);
}

TEST(Diskstats, AValueThatDoesNotFitIsAbsentNotWrong) {
  Tree tree;
  tree.file("proc/diskstats", "8 0 sda 1 2 9223372036854775807 4 5 6 7 8 9 10 11\n");
  auto got = Bench(collector_diskstats, tree).sample();
  EXPECT_EQ(got.count("node_disk_read_bytes_total{device=\"sda\"}"), 0u);
  EXPECT_EQ(got.at("node_disk_written_bytes_total{device=\"sda\"}"), 7 * 512);
}

TEST(Diskstats, ADamagedFileIsSurvived) {
  expect_survives_damage(collector_diskstats, "proc/diskstats", kText);
}

}  // namespace
}  // namespace firstwait
