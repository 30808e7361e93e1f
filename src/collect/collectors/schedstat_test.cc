#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_schedstat;
namespace {

constexpr const char* kText =
    "version 15\ntimestamp 15819019232\n"
    "cpu0 498494191 0 3533438552 2553969831 3853684107 2465731542 2045936778163039 343796328169361 "
    "4767485306\n"
    "domain0 00000000,00000003 212499247 210112015 1861015\n"
    "cpu1 518377256 0 4155211005 2778589869 10466382 2867629021 1904686152592476 364107263788241 "
    "5145567945\n";

TEST(Schedstat, RunningAndWaitingAreSecondsOfEachCore) {
  Tree tree;
  tree.file("proc/schedstat", kText);
  auto got = Bench(collector_schedstat, tree).sample();
  EXPECT_DOUBLE_EQ(got.at("node_schedstat_running_seconds_total{cpu=\"0\"}"), 2045936.778163039);
  EXPECT_DOUBLE_EQ(got.at("node_schedstat_waiting_seconds_total{cpu=\"1\"}"), 364107.263788241);
  EXPECT_EQ(got.at("node_schedstat_timeslices_total{cpu=\"1\"}"), 5145567945);
  EXPECT_EQ(got.size(), 6u);
}

TEST(Schedstat, AShortLineIsAbsentAndCounted) {
  Tree tree;
  tree.file("proc/schedstat", "version 15\ncpu0 1 2 3\n");
  Bench bench(collector_schedstat, tree);
  EXPECT_TRUE(bench.sample().empty());
  EXPECT_EQ(bench.state().last_trouble, "/proc/schedstat: cpu0");
}

TEST(Schedstat, ADamagedFileIsSurvived) {
  expect_survives_damage(collector_schedstat, "proc/schedstat", kText);
}

}  // namespace
}  // namespace firstwait
