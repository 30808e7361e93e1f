#include <fstream>
#include <sstream>

#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_mountstats;
namespace {

constexpr const char* kText =
    "device rootfs mounted on / with fstype rootfs\n"
    "device nfs01:/data mounted on /data with fstype nfs4 statvers=1.1\n"
    "\topts:\trw,vers=4.2,proto=tcp,mountaddr=10.0.0.9,addr=10.0.0.9\n\tage:\t77\n"
    "\tevents:\t1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 \n"
    "\tbytes:\t100 200 300 400 500 600 700 800 \n"
    "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
    "\txprt:\ttcp 832 0 1 0 11 6428 6429 3 12154 4 24 26 5726\n"
    "\tper-op statistics\n"
    "\t        NULL: 0 0 0 0 0 0 0 0\n"
    "\t        READ: 32 33 1 5760 4197632 13 609 633 0\n\n"
    "device nfs01:/data mounted on /again with fstype nfs4 statvers=1.1\n"
    "\topts:\trw,proto=tcp,mountaddr=10.0.0.9\n\tage:\t77\n\txprt:\ttcp 832 0 1 0 11 6428 6429 3 "
    "12154 4 24 26 5726\n"
    "\tper-op statistics\n\t        READ: 999 33 1 5760 4197632 13 609 633 0\n";

TEST(Mountstats, OperationsBytesAndTransportOfEachExportOnce) {
  Tree tree;
  tree.file("proc/self/mountstats", kText);
  auto got = Bench(collector_mountstats, tree).sample();
  const std::string m = "export=\"nfs01:/data\",mountaddr=\"10.0.0.9\"";
  const std::string read = "{" + m + ",operation=\"READ\",protocol=\"tcp\"}";
  EXPECT_EQ(got.at("node_mountstats_nfs_operations_requests_total" + read), 32);
  EXPECT_EQ(got.at("node_mountstats_nfs_operations_transmissions_total" + read), 33);
  EXPECT_EQ(got.at("node_mountstats_nfs_operations_major_timeouts_total" + read), 1);
  EXPECT_EQ(got.at("node_mountstats_nfs_operations_queue_time_seconds_total" + read), 0.013);
  EXPECT_EQ(got.at("node_mountstats_nfs_operations_response_time_seconds_total" + read), 0.609);
  EXPECT_EQ(got.at("node_mountstats_nfs_operations_request_time_seconds_total" + read), 0.633);
  const std::string p = "{" + m + ",protocol=\"tcp\"}";
  EXPECT_EQ(got.at("node_mountstats_nfs_total_read_bytes_total" + p), 500);
  EXPECT_EQ(got.at("node_mountstats_nfs_event_jukebox_delay_total" + p), 25);
  EXPECT_EQ(got.at("node_mountstats_nfs_age_seconds_total" + p), 77);
  const std::string t = "{" + m + ",protocol=\"tcp\",transport=\"0\"}";
  EXPECT_EQ(got.at("node_mountstats_nfs_transport_pending_queue_total" + t), 5726);
  EXPECT_EQ(got.at("node_mountstats_nfs_transport_maximum_rpc_slots" + t), 24);
  EXPECT_EQ(got.at("node_mountstats_nfs_transport_bad_transaction_ids_total" + t), 3);
}

TEST(Mountstats, WithoutNfsItIsAbsent) {
  Tree tree;
  tree.file("proc/self/mountstats", "device rootfs mounted on / with fstype rootfs\n");
  Bench bench(collector_mountstats, tree);
  EXPECT_TRUE(bench.sample().empty());
  EXPECT_EQ(bench.presence(), Presence::absent);
}

TEST(Mountstats, ARecordedNfs42MountGivesWhatTheFileSays) {
  const auto path = shared_data("node/nfs42_mountstats_recorded.log");
  if (!path) GTEST_SKIP() << "shared data is not here";
  std::stringstream text;
  text << std::ifstream(*path).rdbuf();
  Tree tree;
  tree.file("proc/self/mountstats", text.str());
  auto got = Bench(collector_mountstats, tree).sample();
  const std::string read =
      "{export=\"127.0.0.1:/\",mountaddr=\"\",operation=\"READ\",protocol=\"tcp\"}";
  EXPECT_EQ(got.at("node_mountstats_nfs_operations_requests_total" + read), 32);
  EXPECT_EQ(got.at("node_mountstats_nfs_operations_received_bytes_total" + read), 4197632);
  EXPECT_EQ(got.at("node_mountstats_nfs_operations_response_time_seconds_total" + read), 0.609);
  EXPECT_EQ(got.at("node_mountstats_nfs_operations_request_time_seconds_total" + read), 0.633);
  EXPECT_EQ(got.at("node_mountstats_nfs_read_bytes_total{export=\"127.0.0.1:/"
                   "\",mountaddr=\"\",protocol=\"tcp\"}"),
            4194304);
}

TEST(Mountstats, ADamagedFileIsSurvived) {
  expect_survives_damage(collector_mountstats, "proc/self/mountstats", kText);
}

}  // namespace
}  // namespace firstwait
