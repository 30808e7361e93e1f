#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_thermal;
namespace {

TEST(Thermal, ZonesInDegreesAndThrottlesOncePerCore) {
  Tree tree;
  tree.file("sys/class/thermal/thermal_zone0/type", "cpu-thermal\n")
      .file("sys/class/thermal/thermal_zone0/temp", "12376\n");
  for (const char* cpu : {"cpu0", "cpu1"}) {  // two threads of one core
    const std::string at = std::string("sys/devices/system/cpu/") + cpu + "/";
    tree.file(at + "topology/core_id", "5\n")
        .file(at + "topology/physical_package_id", "1\n")
        .file(at + "thermal_throttle/core_throttle_count", "30\n")
        .file(at + "thermal_throttle/package_throttle_count", "9\n");
  }
  auto got = Bench(collector_thermal, tree).sample();
  EXPECT_EQ(got.at("node_thermal_zone_temp{type=\"cpu-thermal\",zone=\"0\"}"), 12.376);
  EXPECT_EQ(got.at("node_cpu_core_throttles_total{core=\"5\",package=\"1\"}"), 30);
  EXPECT_EQ(got.at("node_cpu_package_throttles_total{package=\"1\"}"), 9);
  EXPECT_EQ(got.size(), 3u);
}

}  // namespace
}  // namespace firstwait
