#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_filesystem;
namespace {

TEST(Filesystem, SizesOfWhatIsMountedAndPseudoFileSystemsAreLeftOut) {
  Tree tree;
  tree.file(
          "proc/1/mountinfo",
          "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n22 1 0:5 / /proc rw - proc proc rw\n"
          "23 1 0:6 / /with\\040blank rw - tmpfs tmpfs rw\n24 1 0:7 / /gone rw - xfs /dev/sdb rw\n")
      .file("with blank/x", "");
  auto got = Bench(collector_filesystem, tree).sample();
  const std::string root = "{device=\"/dev/sda1\",fstype=\"ext4\",mountpoint=\"/\"}";
  EXPECT_GT(got.at("node_filesystem_size_bytes" + root), 0);
  EXPECT_LE(got.at("node_filesystem_avail_bytes" + root),
            got.at("node_filesystem_size_bytes" + root));
  EXPECT_EQ(got.count("node_filesystem_size_bytes{device=\"tmpfs\",fstype=\"tmpfs\",mountpoint=\"/"
                      "with blank\"}"),
            1u);
  EXPECT_EQ(
      got.at(
          "node_filesystem_device_error{device=\"/dev/sdb\",fstype=\"xfs\",mountpoint=\"/gone\"}"),
      1);
  EXPECT_EQ(
      got.count(
          "node_filesystem_size_bytes{device=\"/dev/sdb\",fstype=\"xfs\",mountpoint=\"/gone\"}"),
      0u);
}

TEST(Filesystem, ARemoteMountIsAskedOnAThreadOfItsOwn) {
  Tree tree;
  tree.file("proc/1/mountinfo", "21 1 0:42 / /data rw - nfs4 nfs01:/export rw\n")
      .file("data/x", "");
  Bench bench(collector_filesystem, tree);
  auto got = bench.sample();
  const std::string l = "{device=\"nfs01:/export\",fstype=\"nfs4\",mountpoint=\"/data\"}";
  EXPECT_EQ(got.at("node_filesystem_device_error" + l), 0);
  EXPECT_GT(got.at("node_filesystem_size_bytes" + l), 0);
  tree.file("proc/1/mountinfo", "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
  EXPECT_EQ(bench.sample().count("node_filesystem_device_error" + l), 0u);
}

TEST(Filesystem, ADamagedFileIsSurvived) {
  expect_survives_damage(collector_filesystem, "proc/1/mountinfo",
                         "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
}

}  // namespace
}  // namespace firstwait
