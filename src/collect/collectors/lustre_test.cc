#include <cstdlib>

#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_lustre;
namespace {

constexpr const char* kText =
    "snapshot_time             1510950459.772792457 secs.nsecs\n"
    "read_bytes                3 samples [bytes] 4096 1048576 2101248\n"
    "open                      136 samples [regs]\n";

TEST(Lustre, BytesAndOperationsOfTheClient) {
  Tree tree;
  tree.file("proc/fs/lustre/llite/fs1-ffff88/stats", kText);
  auto got = Bench(collector_lustre, tree).sample();
  EXPECT_EQ(got.at("lustre_read_bytes_total{component=\"client\",target=\"fs1-ffff88\"}"), 2101248);
  EXPECT_EQ(got.at("lustre_read_samples_total{component=\"client\",target=\"fs1-ffff88\"}"), 3);
  EXPECT_EQ(
      got.at("lustre_stats_total{component=\"client\",operation=\"open\",target=\"fs1-ffff88\"}"),
      136);
}

TEST(Lustre, ARecordedClientGivesWhatTheFileSays) {
  const auto archive = shared_data("node/lustre/proc_sys_fs_lustre.tar.gz");
  if (!archive) GTEST_SKIP() << "shared data is not here";
  Tree tree;
  ASSERT_EQ(std::system(("tar xzf '" + *archive + "' -C " + tree.path()).c_str()), 0);
  auto got = Bench(collector_lustre, tree).sample();
  const std::string t = "{component=\"client\",target=\"lustrefs-ffff88105db50000\"}";
  EXPECT_EQ(got.at("lustre_read_bytes_total" + t), 4194304);
  EXPECT_EQ(got.at("lustre_write_samples_total" + t), 89467810);
  EXPECT_EQ(got.at("lustre_write_bytes_total" + t), 93813797294080.0);
  EXPECT_EQ(got.at("lustre_stats_total{component=\"client\",operation=\"inode_permission\",target="
                   "\"lustrefs-ffff88105db50000\"}"),
            398);
}

TEST(Lustre, ADamagedFileIsSurvived) {
  expect_survives_damage(collector_lustre, "proc/fs/lustre/llite/fs1-ff/stats", kText);
}

}  // namespace
}  // namespace firstwait
