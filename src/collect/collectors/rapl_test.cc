#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_rapl;
namespace {

TEST(Rapl, ZonesAreNamedAndCountedInJoules) {
  Tree tree;
  tree.file("sys/class/powercap/intel-rapl:0/name", "package-0\n")
      .file("sys/class/powercap/intel-rapl:0/energy_uj", "240422366267\n")
      .file("sys/class/powercap/intel-rapl:0:0/name", "core\n")
      .file("sys/class/powercap/intel-rapl:0:0/energy_uj", "118821284256\n")
      .file("sys/class/powercap/intel-rapl-mmio:0/name", "package-0\n")
      .file("sys/class/powercap/intel-rapl/enabled", "1\n");
  auto got = Bench(collector_rapl, tree).sample();
  const std::string path = tree.path() + "/sys/class/powercap/intel-rapl:0";
  EXPECT_DOUBLE_EQ(got.at("node_rapl_package_joules_total{index=\"0\",path=\"" + path + "\"}"),
                   240422.366267);
  EXPECT_DOUBLE_EQ(got.at("node_rapl_core_joules_total{index=\"0\",path=\"" + path + ":0\"}"),
                   118821.284256);
  EXPECT_EQ(got.size(), 2u);
}

}  // namespace
}  // namespace firstwait
