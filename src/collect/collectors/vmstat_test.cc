#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_vmstat;
namespace {

constexpr const char* kText =
    "nr_free_pages 977769\npgpgin 7344136\npswpin 1476\npgfault 2320168809\npgmajfault "
    "507162\noom_kill 3\npgalloc_dma 0\n";

TEST(Vmstat, PagingFaultsAndKillsAreKeptAndTheRestIsNot) {
  Tree tree;
  tree.file("proc/vmstat", kText);
  auto got = Bench(collector_vmstat, tree).sample();
  EXPECT_EQ(got.at("node_vmstat_pgmajfault"), 507162);
  EXPECT_EQ(got.at("node_vmstat_oom_kill"), 3);
  EXPECT_EQ(got.at("node_vmstat_pswpin"), 1476);
  EXPECT_EQ(got.size(), 5u);
}

TEST(Vmstat, ADamagedFileIsSurvived) {
  expect_survives_damage(collector_vmstat, "proc/vmstat", kText);
}

}  // namespace
}  // namespace firstwait
