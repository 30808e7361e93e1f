#include "base/testing/test_data.h"
#include "import/import_testing.h"

namespace firstwait {
extern const Importer importer_ibstat;
namespace {

std::string setting(const Evidence& e, std::string_view entity, std::string_view key) {
  for (const auto& s : e.settings)
    if (s.entity == entity && s.key == key) return s.value;
  return {};
}

constexpr std::string_view kTwo =
    "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 2\n\tFirmware version: 28.39.1002\n"
    "\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n"
    "\t\tLink layer: InfiniBand\n"
    "\tPort 2:\n\t\tState: Down\n\t\tPhysical state: Disabled\n\t\tRate: 40\n"
    "\t\tLink layer: Ethernet\n";

TEST(Ibstat, StateRateAndLayerOfEachPortAreSettings) {
  EXPECT_EQ(recognised_as(kTwo), "ibstat");
  for (const size_t piece : {0U, 1U, 7U}) {
    const Evidence e = import_text(importer_ibstat, kTwo, piece, "captures/node07.ibstat");
    EXPECT_EQ(setting(e, "nic/node07:mlx5_0", "nic.state"), "Active");
    EXPECT_EQ(setting(e, "nic/node07:mlx5_0", "nic.speed"), "400000 Mbit/s");
    EXPECT_EQ(setting(e, "nic/node07:mlx5_0", "nic.link_layer"), "InfiniBand");
    EXPECT_EQ(setting(e, "nic/node07:mlx5_0", "firmware.version"), "28.39.1002");
    EXPECT_EQ(setting(e, "nic/node07:mlx5_0/2", "nic.state"), "Down");
    EXPECT_EQ(setting(e, "nic/node07:mlx5_0/2", "nic.physical_state"), "Disabled");
    EXPECT_EQ(setting(e, "nic/node07:mlx5_0/2", "nic.link_layer"), "Ethernet");
    EXPECT_EQ(setting(e, "nic/node07:mlx5_0/2", "nic.speed"), "") << "a port that is down has none";
    EXPECT_TRUE(e.health.entries().empty());
  }
}

TEST(Ibstat, CutAndHostileTextIsHarmless) {
  for (size_t n = 0; n < kTwo.size(); n += 5) import_text(importer_ibstat, kTwo.substr(0, n));
  const Evidence e = import_text(
      importer_ibstat, "CA '\nPort 1:\nCA 'x'\nPort 99999999999999:\nState: Active\nRate: -1\n:\n");
  EXPECT_TRUE(e.settings.empty());
  EXPECT_EQ(health_count(e, "no_ports"), 1U);
}

TEST(Ibstat, TheDownPortsOfARealNodeAreThree) {
  const auto path = shared_data("node/gpud/ibstat.47.0.h100.some.down.0");
  if (!path) GTEST_SKIP() << "no shared data";
  const Evidence e = import_text(importer_ibstat, read_whole(*path), 0, "node1");
  std::vector<std::string> down;
  size_t ports = 0;
  for (const auto& s : e.settings) {
    if (s.key != "nic.state") continue;
    ++ports;
    if (s.value == "Down") down.push_back(s.entity);
  }
  EXPECT_EQ(ports, 12U);
  EXPECT_EQ(down,
            (std::vector<std::string>{"nic/node1:mlx5_2", "nic/node1:mlx5_7", "nic/node1:mlx5_8"}));
  EXPECT_EQ(setting(e, "nic/node1:mlx5_1", "nic.speed"), "100000 Mbit/s");
}

}  // namespace
}  // namespace firstwait
