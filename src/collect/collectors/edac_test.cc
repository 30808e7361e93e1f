#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_edac;
namespace {

TEST(Edac, ErrorsOfControllersAndRows) {
  Tree tree;
  tree.file("sys/devices/system/edac/mc/mc0/ce_count", "1\n")
      .file("sys/devices/system/edac/mc/mc0/ue_count", "5\n")
      .file("sys/devices/system/edac/mc/mc0/csrow2/ce_count", "7\n")
      .file("sys/devices/system/edac/mc/power/ce_count", "9\n");
  auto got = Bench(collector_edac, tree).sample();
  EXPECT_EQ(got.at("node_edac_correctable_errors_total{controller=\"0\"}"), 1);
  EXPECT_EQ(got.at("node_edac_uncorrectable_errors_total{controller=\"0\"}"), 5);
  EXPECT_EQ(got.at("node_edac_csrow_correctable_errors_total{controller=\"0\",csrow=\"2\"}"), 7);
  EXPECT_EQ(got.size(), 3u);
}

}  // namespace
}  // namespace firstwait
