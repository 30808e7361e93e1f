#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_loadavg;
namespace {

TEST(Loadavg, ThreeAveragesInHundredths) {
  Tree tree;
  tree.file("proc/loadavg", "0.21 10.37 0.39 1/719 19737\n");
  Bench bench(collector_loadavg, tree);
  auto got = bench.sample();
  EXPECT_EQ(got.at("node_load1"), 0.21);
  EXPECT_EQ(got.at("node_load5"), 10.37);
  EXPECT_EQ(got.at("node_load15"), 0.39);
}

TEST(Loadavg, WhatIsNoNumberIsAbsentAndCounted) {
  Tree tree;
  tree.file("proc/loadavg", "0.21 x\n");
  Bench bench(collector_loadavg, tree);
  EXPECT_EQ(bench.sample().count("node_load5"), 0u);
  EXPECT_EQ(bench.presence(), Presence::broken);
  EXPECT_EQ(bench.state().last_trouble, "/proc/loadavg: field 2");
}

TEST(Loadavg, AMissingFileIsAbsent) {
  Tree tree;
  Bench bench(collector_loadavg, tree);
  EXPECT_TRUE(bench.sample().empty());
  EXPECT_EQ(bench.presence(), Presence::absent);
}

TEST(Loadavg, ADamagedFileIsSurvived) {
  expect_survives_damage(collector_loadavg, "proc/loadavg", "0.21 10.37 0.39 1/719 19737\n");
}

}  // namespace
}  // namespace firstwait
