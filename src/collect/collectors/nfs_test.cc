#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_nfs;
namespace {

constexpr const char* kText =
    "net 70 70 69 45\nrpc 1218785755 374636 1218815394\nproc3 22 0 1061909262\n";

TEST(Nfs, CallsAndRetransmissions) {
  Tree tree;
  tree.file("proc/net/rpc/nfs", kText);
  auto got = Bench(collector_nfs, tree).sample();
  EXPECT_EQ(got.at("node_nfs_rpcs_total"), 1218785755);
  EXPECT_EQ(got.at("node_nfs_rpc_retransmissions_total"), 374636);
}

TEST(Nfs, ADamagedFileIsSurvived) {
  expect_survives_damage(collector_nfs, "proc/net/rpc/nfs", kText);
}

}  // namespace
}  // namespace firstwait
