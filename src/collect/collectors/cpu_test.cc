#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_cpu;
namespace {

constexpr const char* kStat =
    "cpu  300 0 30 4000 5 0 1 0 0 0\n"
    "cpu0 100 0 10 2000 5 0 1 0 7 8\n"
    "cpu1 200 0 20 2000 0 0 0 0 0 0\n"
    "intr 8885917 17 0 0 0\n"
    "ctxt 38014093\nbtime 1418183276\nprocesses 26442\nprocs_running 2\nprocs_blocked 1\n"
    "softirq 5057579 250191 1481983\n";

TEST(Cpu, ModesOfEachCoreAreSecondsAndTheSumIsLeftOut) {
  Tree tree;
  tree.file("proc/stat", kStat);
  Bench bench(collector_cpu, tree);
  auto got = bench.sample();
  EXPECT_EQ(bench.presence(), Presence::present);
  EXPECT_EQ(got.at("node_cpu_seconds_total{cpu=\"0\",mode=\"user\"}"), 1.0);
  EXPECT_EQ(got.at("node_cpu_seconds_total{cpu=\"1\",mode=\"idle\"}"), 20.0);
  EXPECT_EQ(got.at("node_cpu_guest_seconds_total{cpu=\"0\",mode=\"nice\"}"), 0.08);
  EXPECT_EQ(got.at("node_intr_total"), 8885917);
  EXPECT_EQ(got.at("node_procs_blocked"), 1);
  EXPECT_EQ(got.size(), 26u);
}

TEST(Cpu, ACoreThatGoesOfflineIsNoLongerShownAndComesBack) {
  Tree tree;
  tree.file("proc/stat", kStat);
  Bench bench(collector_cpu, tree);
  EXPECT_EQ(bench.sample().count("node_cpu_seconds_total{cpu=\"0\",mode=\"user\"}"), 1u);
  tree.file("proc/stat", "cpu  200 0\ncpu1 210 0 20 2000 0 0 0 0 0 0\n");
  auto got = bench.sample();
  EXPECT_EQ(got.count("node_cpu_seconds_total{cpu=\"0\",mode=\"user\"}"), 0u);
  EXPECT_EQ(got.at("node_cpu_seconds_total{cpu=\"1\",mode=\"user\"}"), 2.1);
  tree.file("proc/stat", kStat);
  EXPECT_EQ(bench.sample().at("node_cpu_seconds_total{cpu=\"0\",mode=\"user\"}"), 1.0);
}

TEST(Cpu, ADamagedFileIsSurvived) { expect_survives_damage(collector_cpu, "proc/stat", kStat); }

}  // namespace
}  // namespace firstwait
