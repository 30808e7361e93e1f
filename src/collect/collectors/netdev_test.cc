#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_netdev;
namespace {

constexpr const char* kText =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop "
    "fifo colls carrier "
    "compressed\n"
    "  eth0:68210035552 520993275    1    2    3     4          5         6 9315587528 43451486    "
    "7    8    9     10       11   "
    "       12\n"
    "    lo: 435303245 1832522 0 0 0 0 0 0 435303245 1832522 0 0 0 0 0 0\n";

TEST(Netdev, EveryColumnHasItsName) {
  Tree tree;
  tree.file("proc/net/dev", kText);
  auto got = Bench(collector_netdev, tree).sample();
  EXPECT_EQ(got.at("node_network_receive_bytes_total{device=\"eth0\"}"), 68210035552);
  EXPECT_EQ(got.at("node_network_receive_drop_total{device=\"eth0\"}"), 2);
  EXPECT_EQ(got.at("node_network_transmit_bytes_total{device=\"eth0\"}"), 9315587528);
  EXPECT_EQ(got.at("node_network_transmit_carrier_total{device=\"eth0\"}"), 11);
  EXPECT_EQ(got.size(), 32u);
}

TEST(Netdev, AnInterfaceThatIsRemovedIsNoLongerShown) {
  Tree tree;
  tree.file("proc/net/dev", kText);
  Bench bench(collector_netdev, tree);
  bench.sample();
  tree.file("proc/net/dev", " lo: 1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n");
  EXPECT_EQ(bench.sample().size(), 16u);
}

TEST(Netdev, ADamagedFileIsSurvived) {
  expect_survives_damage(collector_netdev, "proc/net/dev", kText);
}

}  // namespace
}  // namespace firstwait
