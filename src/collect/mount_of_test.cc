#include "collect/mount_of.h"

#include <gtest/gtest.h>

namespace firstwait {
namespace {

constexpr std::string_view kMounts =
    "21 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "30 21 0:40 / /data rw,relatime shared:5 - nfs4 nfs01:/export rw,vers=4.2\n"
    "31 30 0:41 / /data/my\\040set rw - fuse.slow slow rw\n"
    "broken line\n";

TEST(MountOf, TheDeepestMountThatHoldsThePath) {
  EXPECT_EQ(mount_of(kMounts, "/home/me")->type, "ext4");
  EXPECT_EQ(mount_of(kMounts, "/home/me")->source, "/dev/vda");
  EXPECT_EQ(mount_of(kMounts, "/data/train")->type, "nfs4");
  EXPECT_EQ(mount_of(kMounts, "/data")->source, "nfs01:/export");
  EXPECT_EQ(mount_of(kMounts, "/data/my set/a")->type, "fuse.slow");
}

TEST(MountOf, ANameThatOnlyBeginsAlikeIsAnother) {
  EXPECT_EQ(mount_of(kMounts, "/database")->type, "ext4");
}

TEST(MountOf, NothingFromNothing) {
  EXPECT_FALSE(mount_of("", "/data"));
  EXPECT_FALSE(mount_of(kMounts, "relative"));
}

}  // namespace
}  // namespace firstwait
