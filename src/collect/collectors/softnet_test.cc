#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_softnet;
namespace {

constexpr const char* kText =
    "00049279 00000000 00000001 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
    "00000000\n"
    "000dfb82 00000029 0000000a 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
    "00000000\n";

TEST(Softnet, HexadecimalColumnsByRowOfOldKernels) {
  Tree tree;
  tree.file("proc/net/softnet_stat", kText);
  auto got = Bench(collector_softnet, tree).sample();
  EXPECT_EQ(got.at("node_softnet_processed_total{cpu=\"0\"}"), 299641);
  EXPECT_EQ(got.at("node_softnet_dropped_total{cpu=\"1\"}"), 41);
  EXPECT_EQ(got.at("node_softnet_times_squeezed_total{cpu=\"1\"}"), 10);
}

TEST(Softnet, NewKernelsNameTheCore) {
  Tree tree;
  tree.file("proc/net/softnet_stat",
            "00000001 00000002 00000003 0 0 0 0 0 0 0 0 00000000 00000012 00000000 00000000\n");
  auto got = Bench(collector_softnet, tree).sample();
  EXPECT_EQ(got.at("node_softnet_dropped_total{cpu=\"18\"}"), 2);
}

TEST(Softnet, ADamagedFileIsSurvived) {
  expect_survives_damage(collector_softnet, "proc/net/softnet_stat", kText);
}

}  // namespace
}  // namespace firstwait
