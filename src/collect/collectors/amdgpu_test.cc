#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_amdgpu;
namespace {

TEST(Amdgpu, SysfsInDcgmsNamesAndUnits) {
  Tree tree;
  const std::string at = "sys/class/drm/card1/device/";
  tree.file(at + "vendor", "0x1002\n")
      .file(at + "gpu_busy_percent", "97\n")
      .file(at + "mem_info_vram_used", "4294967296\n")
      .file(at + "mem_info_vram_total", "34342961152\n")
      .file(at + "pp_dpm_sclk", "0: 300Mhz\n1: 1502Mhz *\n")
      .file(at + "unique_id", "abc\n")
      .file(at + "ras/umc_err_count", "ue: 1\nce: 30\n")
      .file(at + "hwmon/hwmon3/temp1_input", "64000\n")
      .file(at + "hwmon/hwmon3/power1_average", "250000000\n")
      .file("sys/class/drm/card0/device/vendor", "0x8086\n")
      .file("sys/class/drm/card1-DP-1/status", "connected\n");
  auto got = Bench(collector_amdgpu, tree).sample();
  const std::string l = "{gpu=\"0\",UUID=\"abc\",modelName=\"\",vendor=\"amd\"}";
  EXPECT_EQ(got.at("DCGM_FI_DEV_GPU_UTIL" + l), 97);
  EXPECT_EQ(got.at("DCGM_FI_DEV_FB_USED" + l), 4096);
  EXPECT_EQ(got.at("DCGM_FI_DEV_SM_CLOCK" + l), 1502);
  EXPECT_EQ(got.at("DCGM_FI_DEV_GPU_TEMP" + l), 64);
  EXPECT_EQ(got.at("DCGM_FI_DEV_POWER_USAGE" + l), 250);
  EXPECT_EQ(got.at("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL" + l), 1);
  EXPECT_EQ(got.size(), 8u);
}

TEST(Amdgpu, ADamagedFileIsSurvived) {
  Tree tree;
  const std::string at = "sys/class/drm/card0/device/";
  tree.file(at + "vendor", "0x1002")
      .file(at + "gpu_busy_percent", "x")
      .file(at + "pp_dpm_sclk", "*:*\n: *\n1:*")
      .file(at + "ras/umc_err_count", "ue:");
  EXPECT_TRUE(Bench(collector_amdgpu, tree).sample().empty());
}

}  // namespace
}  // namespace firstwait
