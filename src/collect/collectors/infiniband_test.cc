#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_infiniband;
namespace {

constexpr const char* kPort = "sys/class/infiniband/mlx5_0/ports/1/";

TEST(Infiniband, DataIsBytesRateIsBytesPerSecondAndHardwareCountersAreOurs) {
  Tree tree;
  const std::string p = kPort;
  tree.file(p + "rate", "400 Gb/sec (4X NDR)\n")
      .file(p + "state", "4: ACTIVE\n")
      .file(p + "phys_state", "5: LinkUp\n")
      .file(p + "counters/port_rcv_data", "1000\n")
      .file(p + "counters/port_xmit_wait", "77\n")
      .file(p + "counters/symbol_error", "N/A (no PMA)\n")
      .file(p + "hw_counters/out_of_sequence", "3\n")
      .file(p + "hw_counters/np_cnp_sent", "9\n");
  auto got = Bench(collector_infiniband, tree).sample();
  const std::string l = "{device=\"mlx5_0\",port=\"1\"}";
  EXPECT_EQ(got.at("node_infiniband_rate_bytes_per_second" + l), 50e9);
  EXPECT_EQ(got.at("node_infiniband_state_id" + l), 4);
  EXPECT_EQ(got.at("node_infiniband_port_data_received_bytes_total" + l), 4000);
  EXPECT_EQ(got.at("node_infiniband_port_transmit_wait_total" + l), 77);
  EXPECT_EQ(got.at("firstwait_rdma_out_of_sequence_total" + l), 3);
  EXPECT_EQ(got.at("firstwait_rdma_cnp_sent_total" + l), 9);
  EXPECT_EQ(got.count("node_infiniband_symbol_error_total" + l), 0u)
      << "what the port does not tell is absent";
}

TEST(Infiniband, RatesWithAFractionAndWithoutALink) {
  Tree tree;
  tree.file(std::string(kPort) + "rate", "2.5 Gb/sec (1X SDR)\n");
  auto got = Bench(collector_infiniband, tree).sample();
  EXPECT_EQ(got.at("node_infiniband_rate_bytes_per_second{device=\"mlx5_0\",port=\"1\"}"), 312.5e6);
}

TEST(Infiniband, RecordedAdaptersGiveWhatTheirFilesSay) {
  const auto archive = shared_data("node/procfs/fixtures.ttar");
  if (!archive) GTEST_SKIP() << "shared data is not here";
  Tree tree;
  ASSERT_TRUE(unpack_ttar(*archive, tree.path()));
  Bench bench(collector_infiniband, World{Root::at(tree.path() + "/fixtures"), "node01"});
  auto got = bench.sample();
  for (const char* counter : {"out_of_sequence", "packet_seq_err"}) {
    const auto file = read_line(
        tree.path() + "/fixtures/sys/class/infiniband/mlx5_0/ports/1/hw_counters/" + counter);
    ASSERT_TRUE(file);
    EXPECT_EQ(
        got.at("firstwait_rdma_" + std::string(counter) + "_total{device=\"mlx5_0\",port=\"1\"}"),
        std::stod(*file));
  }
}

TEST(Infiniband, ADamagedFileIsSurvived) {
  expect_survives_damage(collector_infiniband, std::string(kPort) + "rate",
                         "400 Gb/sec (4X NDR)\n");
}

}  // namespace
}  // namespace firstwait
