#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_hwmon;
namespace {

TEST(Hwmon, SensorsInTheirUnitsUnderTheDevicesName) {
  Tree tree;
  const std::string h = "sys/devices/platform/coretemp.0/hwmon/hwmon0/";
  tree.file(h + "name", "coretemp\n")
      .file(h + "temp1_input", "55000\n")
      .file(h + "temp1_crit", "100000\n")
      .file(h + "temp1_label", "Package id 0\n")
      .file(h + "fan2_input", "1098\n")
      .file(h + "power1_average", "250500000\n")
      .file(h + "temp9_input", "\n")
      .file(h + "in0_input", "792\n")
      .link(h + "device", "../..")
      .link("sys/class/hwmon/hwmon0", "../../devices/platform/coretemp.0/hwmon/hwmon0");
  auto got = Bench(collector_hwmon, tree).sample();
  const std::string chip = "{chip=\"platform_coretemp_0\",";
  EXPECT_EQ(got.at("node_hwmon_temp_celsius" + chip + "sensor=\"temp1\"}"), 55);
  EXPECT_EQ(got.at("node_hwmon_temp_crit_celsius" + chip + "sensor=\"temp1\"}"), 100);
  EXPECT_EQ(got.at("node_hwmon_fan_rpm" + chip + "sensor=\"fan2\"}"), 1098);
  EXPECT_EQ(got.at("node_hwmon_power_average_watt" + chip + "sensor=\"power1\"}"), 250.5);
  EXPECT_EQ(got.at("node_hwmon_sensor_label" + chip + "label=\"Package id 0\",sensor=\"temp1\"}"),
            1);
  EXPECT_EQ(got.at("node_hwmon_chip_names" + chip + "chip_name=\"coretemp\"}"), 1);
  EXPECT_EQ(got.size(), 6u);
}

TEST(Hwmon, ChipsOfOneDeviceAreToldApart) {
  Tree tree;
  for (const char* n : {"6", "7"}) {
    const std::string h = std::string("sys/devices/platform/asus/hwmon/hwmon") + n + "/";
    tree.file(h + "name", std::string("chip_") + n)
        .file(h + "fan1_input", n)
        .link(h + "device", "../..");
    tree.link(std::string("sys/class/hwmon/hwmon") + n,
              std::string("../../devices/platform/asus/hwmon/hwmon") + n);
  }
  auto got = Bench(collector_hwmon, tree).sample();
  EXPECT_EQ(got.at("node_hwmon_fan_rpm{chip=\"platform_asus_chip_6\",sensor=\"fan1\"}"), 6);
  EXPECT_EQ(got.at("node_hwmon_fan_rpm{chip=\"platform_asus_chip_7\",sensor=\"fan1\"}"), 7);
}

TEST(Hwmon, AMachineWithoutSensorsIsAbsent) {
  Tree tree;
  Bench bench(collector_hwmon, tree);
  bench.sample();
  EXPECT_EQ(bench.presence(), Presence::absent);
}

}  // namespace
}  // namespace firstwait
