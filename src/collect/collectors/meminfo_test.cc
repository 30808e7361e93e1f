#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_meminfo;
namespace {

constexpr const char* kMeminfo =
    "MemTotal:       3742148 kB\nMemFree:  225472 kB\nActive(anon):    2068484 "
    "kB\nHugePages_Total:       7\n";

TEST(Meminfo, FieldsWithAUnitAreBytesAndCountsStay) {
  Tree tree;
  tree.file("proc/meminfo", kMeminfo);
  auto got = Bench(collector_meminfo, tree).sample();
  EXPECT_EQ(got.at("node_memory_MemTotal_bytes"), 3742148 * 1024.0);
  EXPECT_EQ(got.at("node_memory_Active_anon_bytes"), 2068484 * 1024.0);
  EXPECT_EQ(got.at("node_memory_HugePages_Total"), 7);
  EXPECT_EQ(got.size(), 4u);
}

TEST(Meminfo, ADamagedFileIsSurvived) {
  expect_survives_damage(collector_meminfo, "proc/meminfo", kMeminfo);
}

}  // namespace
}  // namespace firstwait
