#include <gtest/gtest.h>

#include "base/testing/test_data.h"
#include "import/import.h"
#include "import/logs/test_feed.h"

namespace firstwait {
extern const Importer importer_nccl_log;
namespace {

Evidence read(std::string_view text) {
  Evidence out;
  feed(importer_nccl_log, text, out);
  return out;
}
int score(std::string_view text) { return importer_nccl_log.sniff({text, "x"}); }

constexpr std::string_view kIb =
    "NCCL version 2.18.1+cuda12.1\n"
    "node01:100:200 [0] NCCL INFO Bootstrap : Using ib0:10.1.2.3<0>\n"
    "node01:100:200 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to ib0\n"
    "node01:100:200 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB ib0:10.1.2.3<0>\n"
    "node01:100:200 [0] NCCL INFO Using network IB\n"
    "node01:100:201 [0] NCCL INFO comm 0x7f rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId c1000 commId "
    "0xab - Init START\n"
    "node02:110:211 [3] NCCL INFO comm 0x7e rank 1 nranks 2 cudaDev 3 nvmlDev 3 busId d1000 commId "
    "0xab - Init START\n"
    "node01:100:201 [0] NCCL INFO Channel 00/04 :    0   1\n"
    "node01:100:201 [0] NCCL INFO Channel 00/0 : 1[3] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
    "node01:100:201 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[3] [send] via NET/IB/0/GDRDMA\n"
    "node02:110:211 [3] NCCL INFO Channel 00/0 : 0[0] -> 1[3] [receive] via NET/IB/0\n"
    "node02:110:211 [3] NCCL INFO Channel 01/0 : 1[3] -> 2[4] via P2P/IPC/read\n";

TEST(NcclLog, TransportGdrVersionAndEnvironmentAreSettings) {
  const Evidence e = read(kIb);
  EXPECT_EQ(setting(e, "rank/0", "nccl.transport"), "NET/IB/GDRDMA");
  EXPECT_EQ(setting(e, "rank/0", "nccl.gdr"), "1");
  EXPECT_EQ(setting(e, "rank/1", "nccl.transport"), "NET/IB,P2P");
  EXPECT_EQ(setting(e, "rank/1", "nccl.gdr"), "0");
  EXPECT_EQ(setting(e, "job/x", "nccl.version"), "2.18.1+cuda12.1");
  EXPECT_EQ(setting(e, "job/x", "nccl.channels"), "4");
  EXPECT_EQ(setting(e, "host/node01", "env.NCCL_SOCKET_IFNAME"), "ib0");
  EXPECT_EQ(setting(e, "host/node01", "nccl.network"), "IB");
}

TEST(NcclLog, RanksAreFoundOnTheirHostsAndDevices) {
  const Evidence e = read(kIb);
  ASSERT_EQ(e.ranks.size(), 2u);
  EXPECT_EQ(e.ranks.at(1).host, "node02");
  EXPECT_EQ(e.ranks.at(1).gpu, "node02:3");
  EXPECT_EQ(e.job.world_size, 2);
  EXPECT_EQ(e.relations.size(), 4u);
}

TEST(NcclLog, SocketFallbackIsNamedAlsoInOldVersions) {
  const Evidence e = read(
      "node01:100:200 [0] NCCL INFO NET/IB : No device found.\n"
      "node01:100:200 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\n"
      "node01:100:200 [0] NCCL INFO Ring 00 : 3 -> 0 [receive] via NET/Socket/0\n"
      "[2024-05-08 10:10:10] node01:100:200 [0] misc/socket.cc:50 NCCL WARN Net : Connect "
      "failed\n");
  EXPECT_EQ(setting(e, "process/node01:100:0", "nccl.transport"), "NET/Socket");
  EXPECT_EQ(setting(e, "process/node01:100:0", "nccl.gdr"), "0");
  EXPECT_EQ(setting(e, "host/node01", "env.NCCL_IB_DISABLE"), "1");
  EXPECT_EQ(setting(e, "host/node01", "nccl.ib_devices"), "none");
  ASSERT_EQ(e.events.size(), 1u);
  EXPECT_EQ(e.events[0].start, 1715163010000000000);
  EXPECT_EQ(e.events[0].attribute("message"), "Net : Connect failed");
}

TEST(NcclLog, RanksOfSubgroupsAreNotTheJobs) {
  const Evidence e = read(
      "a:1:1 [0] NCCL INFO comm 0x1 rank 5 nranks 8 cudaDev 0 busId 1 - Init COMPLETE\n"
      "a:1:1 [0] NCCL INFO comm 0x2 rank 1 nranks 2 cudaDev 0 busId 1 - Init COMPLETE\n"
      "b:2:2 [0] NCCL INFO comm 0x3 rank 0 nranks 2 cudaDev 0 busId 1 - Init COMPLETE\n");
  ASSERT_EQ(e.ranks.size(), 1u);
  EXPECT_EQ(e.ranks.begin()->first, 5);
}

TEST(NcclLog, BenchmarkBitsBecomeBytes) {
  const Evidence e = read(
      "0 data size: 4.0 GB\n3:\n duration: 1.5311 sec\n algo throughput: 40000000000.0 bps, "
      "40.0000 Gbps\n"
      " busbw: 40.4934  Gbps\n");
  ASSERT_EQ(e.series.size(), 2u);
  EXPECT_EQ(e.names[e.series[0].entity], "rank/3");
  EXPECT_DOUBLE_EQ(e.series[0].value[0], 5e9);
  EXPECT_NEAR(e.series[1].value[0], 40.4934e9 / 8, 1);
}

TEST(NcclLog, NcclTestsTablesAreInBytesAlready) {
  const std::string_view text =
      "# nThread 1 nGpus 8 minBytes 8 maxBytes 8388608\n"
      "#  Rank  0 Group  0 Pid 12345 on  node01 device  0 [0x0f] NVIDIA A100\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
      "(us)  (GB/s)  (GB/s)\n"
      "     8388608       2097152     float     sum      -1    232.5   36.08   67.65      0    "
      "231.9   36.17   67.83      0\n";
  const Evidence e = read(text);
  ASSERT_EQ(e.series.size(), 4u);
  EXPECT_DOUBLE_EQ(e.series[1].value[0], 67.65e9);
  EXPECT_DOUBLE_EQ(e.series[3].value[0], 67.83e9);
  EXPECT_EQ(e.ranks.at(0).host, "node01");
  EXPECT_EQ(score(text), 70);
}

TEST(NcclLog, RowsDoNotDependOnChunksAndDamageIsSurvived) {
  EXPECT_TRUE(same_for_all_chunks(importer_nccl_log, kIb));
  feed_damaged(importer_nccl_log, kIb);
  EXPECT_EQ(health_count(read("nothing\n"), "nothing_of_nccl"), 1u);
  EXPECT_EQ(score(""), 0);
  EXPECT_EQ(score("step 1 step_time 10ms\n"), 0);
}

TEST(NcclLog, ARealRunNamesInfinibandAndItsBandwidth) {
  const auto path = shared_data("logs/nccl/all_reduce_bench-a100-n4.txt.gz");
  if (!path) GTEST_SKIP() << "no shared data";
  Evidence e;
  ASSERT_TRUE(import_inputs({*path}, {}, e));
  EXPECT_EQ(e.sources.at(0).importer, "nccl_log");
  double most = 0;
  for (const auto& s : e.series)
    most = std::max(most, *std::max_element(s.value.begin(), s.value.end()));
  EXPECT_GT(most, 15e9 / 8);
  EXPECT_LT(most, 45e9 / 8);
}

}  // namespace
}  // namespace firstwait
