#include "base/testing/test_data.h"
#include "import/import_testing.h"

namespace firstwait {
extern const Importer importer_nvidia_smi;
namespace {

std::vector<double> values(const Evidence& e, std::string_view metric, std::string_view entity) {
  for (const auto& s : e.series)
    if (e.names[s.metric] == metric && e.names[s.entity] == entity) return s.value;
  return {};
}
std::string setting(const Evidence& e, std::string_view entity, std::string_view key) {
  for (const auto& s : e.settings)
    if (s.entity == entity && s.key == key) return s.value;
  return {};
}
using V = std::vector<double>;

TEST(NvidiaSmi, ProcessesOfAComputeAppsQueryAreOnTheGpuThatTheyName) {
  const std::string text =
      "pid, process_name, gpu_uuid, used_gpu_memory [MiB]\n"
      "4711, python3, GPU-aa, 70000 MiB\n4712, /opt/render, GPU-bb, 9000 MiB\n";
  EXPECT_EQ(recognised_as(text), "nvidia_smi");
  EXPECT_EQ(recognised_as("pid, process_name, used_gpu_memory [MiB]\n1, a, 5 MiB\n"), "nvidia_smi");
  const Evidence e = import_text(importer_nvidia_smi, text, 9, "node05.csv");
  ASSERT_EQ(e.relations.size(), 2U);
  EXPECT_EQ(e.relations[0].from, "process/node05:4711");
  EXPECT_EQ(e.relations[0].to, "gpu/node05:GPU-aa");
  EXPECT_EQ(e.relations[1].to, "gpu/node05:GPU-bb");
  const auto attributes = e.entities.at(1).attributes;
  EXPECT_EQ(attributes.at(0).second, "/opt/render");
  EXPECT_EQ(attributes.at(1).second, "9000 MiB");
  EXPECT_TRUE(e.series.empty()) << "a process is no measurement of a GPU";
}

TEST(NvidiaSmi, AProcessWhoseGpuIsNotNamedIsOnNone) {
  const Evidence e = import_text(
      importer_nvidia_smi, "pid, process_name, used_gpu_memory [MiB]\n1, a, 5 MiB\n", 0, "n.csv");
  EXPECT_EQ(e.entities.size(), 1U);
  EXPECT_TRUE(e.relations.empty());
}

TEST(NvidiaSmi, CsvWithUnitsBecomesSamplesOverTime) {
  const std::string text =
      R"(timestamp, index, name, utilization.gpu [%], memory.used [MiB], clocks.current.sm [MHz], power.draw [W], pcie.link.width.current, clocks_throttle_reasons.active, ecc.errors.uncorrected.volatile.total, hostname
2026/07/14 08:12:53.500, 1, NVIDIA H100, 95 %, 1024 MiB, 1980 MHz, 588.39 W, 16, 0x0000000000000040, 0, node01
2026/07/14 08:12:54.500, 1, NVIDIA H100, [N/A], 1025 MiB, 1200 MHz, [Not Supported], 16, 0x0000000000000000, 2, node01
2026/07/14 08:12:55.500, 1
)";
  EXPECT_EQ(recognised_as(text), "nvidia_smi");
  const Evidence e = import_text(importer_nvidia_smi, text, 10);
  EXPECT_EQ(values(e, "DCGM_FI_DEV_GPU_UTIL", "gpu/node01:1"), V({95}));
  EXPECT_EQ(values(e, "DCGM_FI_DEV_SM_CLOCK", "gpu/node01:1"), V({1980, 1200}));
  EXPECT_EQ(values(e, "DCGM_FI_DEV_POWER_USAGE", "gpu/node01:1"), V({588.39}));
  EXPECT_EQ(values(e, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "gpu/node01:1"), V({64, 0}));
  EXPECT_EQ(values(e, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "gpu/node01:1"), V({0, 2}));
  ASSERT_EQ(e.events.size(), 1U);
  EXPECT_EQ(e.events[0].kind, "throttle");
  EXPECT_EQ(e.events[0].attribute("reason"), "hw_thermal_slowdown");
  EXPECT_EQ(e.events[0].start, 1784016773500000000);
  EXPECT_EQ(health_count(e, "short_row"), 1U);
}

TEST(NvidiaSmi, RealTextOfEightThrottledGpusAccusesEachOfThem) {
  const auto path = shared_data("node/gpud/nvidia-smi-query.535.161.08.out.0.valid");
  if (!path) GTEST_SKIP() << "shared data is absent";
  const Evidence e = import_text(importer_nvidia_smi, read_whole(*path), 0, *path);
  std::map<std::string, int> brakes, slowdowns;
  for (const auto& event : e.events) {
    if (event.attribute("reason") == "hw_power_brake_slowdown") ++brakes[event.entity];
    if (event.attribute("reason") == "hw_slowdown") ++slowdowns[event.entity];
  }
  EXPECT_EQ(brakes.size(), 8U);
  EXPECT_EQ(slowdowns.size(), 8U);
}

TEST(NvidiaSmi, RealTextOfAnIdleA10GivesItsValues) {
  const auto path = shared_data("node/gpud/nvidia-smi-query.535.129.03.out.0.valid.a10");
  if (!path) GTEST_SKIP() << "shared data is absent";
  const Evidence e = import_text(importer_nvidia_smi, read_whole(*path), 0, *path);
  const std::string gpu = "gpu/nvidia-smi-query:0";
  EXPECT_EQ(values(e, "DCGM_FI_DEV_POWER_USAGE", gpu), V({43.89}));
  EXPECT_EQ(values(e, "DCGM_FI_DEV_GPU_TEMP", gpu), V({33}));
  EXPECT_EQ(values(e, "DCGM_FI_DEV_SM_CLOCK", gpu), V({225}));
  EXPECT_EQ(values(e, "DCGM_FI_DEV_FB_FREE", gpu), V({22511}));
  EXPECT_EQ(values(e, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", gpu), V({1}));
  EXPECT_EQ(setting(e, gpu, "gpu.model"), "NVIDIA A10");
  EXPECT_EQ(setting(e, gpu, "gpu.power_limit"), "150.00 W");
  EXPECT_EQ(setting(e, gpu, "gpu.slowdown_temperature"), "98 C");
  EXPECT_EQ(setting(e, gpu, "gpu.remapped_rows_pending"), "Yes");
  EXPECT_EQ(setting(e, gpu, "pcie.link_width_max"), "16");
  EXPECT_TRUE(e.events.empty());
  ASSERT_FALSE(e.series.empty());
  EXPECT_EQ(e.series[0].time[0], 1727260824000000000);
}

TEST(NvidiaSmi, RealXmlGivesEveryGpuAndItsProcesses) {
  const auto path = shared_data("node/nvidia_smi/a10g.xml");
  if (!path) GTEST_SKIP() << "shared data is absent";
  const std::string text = read_whole(*path);
  EXPECT_EQ(recognised_as(text), "nvidia_smi");
  const Evidence e = import_text(importer_nvidia_smi, text, 0, *path);
  EXPECT_EQ(values(e, "DCGM_FI_DEV_PCIE_LINK_WIDTH", "gpu/a10g:0"), V({8}));
  EXPECT_EQ(setting(e, "gpu/a10g:0", "pcie.link_width_max"), "16");
  EXPECT_EQ(setting(e, "gpu/a10g:0", "pcie.link_gen_max"), "4");
  EXPECT_EQ(values(e, "DCGM_FI_DEV_POWER_USAGE", "gpu/a10g:0"), V({25.58}));
  const auto process = std::find_if(e.entities.begin(), e.entities.end(),
                                    [](const Entity& p) { return p.id == "process/a10g:725"; });
  ASSERT_NE(process, e.entities.end());
  EXPECT_EQ(process->attributes[0].second, "/usr/lib/xorg/Xorg");
  const Evidence cut = import_text(importer_nvidia_smi, text.substr(0, text.size() / 2), 0, *path);
  EXPECT_GE(health_count(cut, "bad_xml"), 1U);
}

TEST(NvidiaSmi, ARealCaptureOfSeveralCommandsGivesBothRecordsOfEach) {
  const auto path = shared_data("node/nvidia_smi/h100_590.48.01.txt");
  if (!path) GTEST_SKIP() << "shared data is absent";
  const std::string text = read_whole(*path);
  EXPECT_EQ(recognised_as(text), "nvidia_smi");
  const Evidence e = import_text(importer_nvidia_smi, text, 0, *path);
  std::vector<double> power;
  for (const auto& s : e.series)
    if (e.names[s.metric] == "DCGM_FI_DEV_POWER_USAGE")
      power.insert(power.end(), s.value.begin(), s.value.end());
  EXPECT_EQ(power.size(), 4U);
  EXPECT_NE(std::find(power.begin(), power.end(), 629.45), power.end());
  EXPECT_GE(std::count_if(e.entities.begin(), e.entities.end(),
                          [](const Entity& p) { return p.id.ends_with(":11345"); }),
            1);
}

}  // namespace
}  // namespace firstwait
