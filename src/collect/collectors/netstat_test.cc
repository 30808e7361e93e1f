#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_netstat;
namespace {

constexpr const char* kSnmp =
    "Tcp: RtoAlgorithm RtoMin MaxConn InSegs OutSegs RetransSegs InErrs\n"
    "Tcp: 1 200 -1 57252008 54915039 227 5\n"
    "Udp: InDatagrams NoPorts InErrors\nUdp: 88542 120 0\n";

TEST(Netstat, ColumnsAreFoundByTheirNames) {
  Tree tree;
  tree.file("proc/net/snmp", kSnmp)
      .file("proc/net/netstat",
            "TcpExt: SyncookiesSent TCPLostRetransmit TCPTimeouts X\nTcpExt: 1 7 115 9\n")
      .file("proc/net/snmp6",
            "Ip6InReceives 7\nUdp6InErrors                    \t3\nIp6InOctets 460\n");
  auto got = Bench(collector_netstat, tree).sample();
  EXPECT_EQ(got.at("node_netstat_Tcp_RetransSegs"), 227);
  EXPECT_EQ(got.at("node_netstat_Tcp_InErrs"), 5);
  EXPECT_EQ(got.at("node_netstat_TcpExt_TCPLostRetransmit"), 7);
  EXPECT_EQ(got.at("node_netstat_TcpExt_TCPTimeouts"), 115);
  EXPECT_EQ(got.at("node_netstat_Udp6_InErrors"), 3);
  EXPECT_EQ(got.at("node_netstat_Ip6_InOctets"), 460);
  EXPECT_EQ(got.count("node_netstat_Tcp_RtoMin"), 0u);
}

TEST(Netstat, WhenTheColumnsChangeTheNamesDecideAnew) {
  Tree tree;
  tree.file("proc/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: 10 20\n");
  Bench bench(collector_netstat, tree);
  bench.sample();
  tree.file("proc/net/snmp", "Tcp: RetransSegs New OutSegs\nTcp: 21 0 11\n");
  auto got = bench.sample();
  EXPECT_EQ(got.at("node_netstat_Tcp_OutSegs"), 11);
  EXPECT_EQ(got.at("node_netstat_Tcp_RetransSegs"), 21);
}

TEST(Netstat, ADamagedFileIsSurvived) {
  expect_survives_damage(collector_netstat, "proc/net/snmp", kSnmp);
}

}  // namespace
}  // namespace firstwait
