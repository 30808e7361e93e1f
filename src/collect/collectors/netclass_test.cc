#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_netclass;
namespace {

TEST(Netclass, SpeedIsBytesPerSecondAndAbsentWithoutALink) {
  Tree tree;
  tree.file("sys/class/net/bonding_masters", "bond0\n")
      .file("sys/class/net/eth0/operstate", "up\n")
      .file("sys/class/net/eth0/speed", "200000\n")
      .file("sys/class/net/eth0/mtu", "9000\n")
      .file("sys/class/net/eth0/carrier", "1\n")
      .file("sys/class/net/eth0/carrier_changes", "4\n")
      .file("sys/class/net/eth0/carrier_down_count", "2\n")
      .file("sys/class/net/eth1/operstate", "down\n")
      .file("sys/class/net/eth1/speed", "-1\n");
  auto got = Bench(collector_netclass, tree).sample();
  EXPECT_EQ(got.at("node_network_speed_bytes{device=\"eth0\"}"), 25e9);
  EXPECT_EQ(got.at("node_network_mtu_bytes{device=\"eth0\"}"), 9000);
  EXPECT_EQ(got.at("node_network_carrier_down_changes_total{device=\"eth0\"}"), 2);
  EXPECT_EQ(got.at("node_network_up{device=\"eth0\"}"), 1);
  EXPECT_EQ(got.at("node_network_up{device=\"eth1\"}"), 0);
  EXPECT_EQ(got.count("node_network_speed_bytes{device=\"eth1\"}"), 0u);
}

TEST(Netclass, AFileThatVanishesBetweenSamplingsIsAbsent) {
  Tree tree;
  tree.file("sys/class/net/eth0/operstate", "up\n").file("sys/class/net/eth0/mtu", "9000\n");
  Bench bench(collector_netclass, tree);
  EXPECT_EQ(bench.sample().size(), 2u);
  tree.remove("sys/class/net/eth0");
  bench.sample();
  EXPECT_EQ(bench.presence(), Presence::present);
}

TEST(Netclass, WithoutSysfsItIsAbsent) {
  Tree tree;
  Bench bench(collector_netclass, tree);
  bench.sample();
  EXPECT_EQ(bench.presence(), Presence::absent);
}

}  // namespace
}  // namespace firstwait
