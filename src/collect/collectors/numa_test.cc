#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_numa;
namespace {

constexpr const char* kText =
    "numa_hit 193460335812\nnuma_miss 12624528\nlocal_node 193454780853\nother_node 18179487\n";

TEST(Numa, CountersOfEachNode) {
  Tree tree;
  tree.file("sys/devices/system/node/node0/numastat", kText)
      .file("sys/devices/system/node/node12/numastat", "other_node 5\n");
  auto got = Bench(collector_numa, tree).sample();
  EXPECT_EQ(got.at("node_memory_numa_local_node_total{node=\"0\"}"), 193454780853.0);
  EXPECT_EQ(got.at("node_memory_numa_other_node_total{node=\"12\"}"), 5);
  EXPECT_EQ(got.size(), 5u);
}

TEST(Numa, ADamagedFileIsSurvived) {
  expect_survives_damage(collector_numa, "sys/devices/system/node/node0/numastat", kText);
}

}  // namespace
}  // namespace firstwait
