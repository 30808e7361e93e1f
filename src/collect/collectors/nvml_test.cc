#include <dlfcn.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "collect/processes.h"
#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_nvml;
extern const Collector collector_loadavg;
namespace {

std::string fake_library() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libfake_nvml.so")
      .string();
}

class Nvml : public testing::Test {
 protected:
  void SetUp() override {
    void* library = ::dlopen(fake_library().c_str(), RTLD_NOW);
    ASSERT_NE(library, nullptr) << ::dlerror();
    set_ = reinterpret_cast<void (*)(const char*, long long)>(::dlsym(library, "fake_nvml_set"));
    clear_ = reinterpret_cast<void (*)()>(::dlsym(library, "fake_nvml_clear"));
    hang_ = reinterpret_cast<void (*)(int)>(::dlsym(library, "fake_nvml_hang"));
    clear_();
  }
  World world() const { return {Root{}, "node01", fake_library(), std::make_shared<Processes>()}; }
  void (*set_)(const char*, long long) = nullptr;
  void (*clear_)() = nullptr;
  void (*hang_)(int) = nullptr;
};

const std::string kFirst = "{gpu=\"0\",UUID=\"GPU-0\",modelName=\"NVIDIA H100 80GB HBM3\"}";
const std::string kSecond = "{gpu=\"1\",UUID=\"GPU-1\",modelName=\"NVIDIA H100 80GB HBM3\"}";

TEST_F(Nvml, ThrottlingErrorsAndLinksInDcgmsUnits) {
  for (const auto& [key, value] :
       std::initializer_list<std::pair<const char*, long long>>{{"0.util", 100},
                                                                {"0.memory_util", 40},
                                                                {"0.used", 80'000'000'000},
                                                                {"0.free", 5'000'000'000},
                                                                {"0.sm_clock", 1200},
                                                                {"0.max_sm_clock", 1980},
                                                                {"0.reasons", 0x48},
                                                                {"0.temperature", 91},
                                                                {"0.power", 412'345},
                                                                {"0.sbe", 7},
                                                                {"0.dbe", 1},
                                                                {"0.remapped", 2},
                                                                {"0.remap_failure", 1},
                                                                {"0.gen", 3},
                                                                {"0.max_gen", 5},
                                                                {"0.width", 16},
                                                                {"0.replays", 9},
                                                                {"0.link0", 1},
                                                                {"0.link1", 1},
                                                                {"0.link2", 0},
                                                                {"0.link3", 1},
                                                                {"0.flit", 5},
                                                                {"0.thermal_violation", 2'000'000},
                                                                {"0.pid", 4711}})
    set_(key, value);
  Bench bench(collector_nvml, world());
  auto got = bench.sample();
  EXPECT_EQ(got.at("DCGM_FI_DEV_GPU_UTIL" + kFirst), 100);
  EXPECT_EQ(got.at("DCGM_FI_DEV_FB_USED" + kFirst), 76293);  // MiB
  EXPECT_EQ(got.at("DCGM_FI_DEV_CLOCKS_EVENT_REASONS" + kFirst), 0x48);
  EXPECT_EQ(got.at("DCGM_FI_DEV_POWER_USAGE" + kFirst), 412.345);
  EXPECT_EQ(got.at("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL" + kFirst), 1);
  EXPECT_EQ(got.at("DCGM_FI_DEV_ROW_REMAP_FAILURE" + kFirst), 1);
  EXPECT_EQ(got.at("DCGM_FI_DEV_PCIE_LINK_GEN" + kFirst), 3);
  EXPECT_EQ(got.at("DCGM_FI_DEV_PCIE_MAX_LINK_GEN" + kFirst), 5);
  EXPECT_EQ(got.at("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL" + kFirst), 15);
  EXPECT_EQ(got.at("firstwait_gpu_nvlinks_up" + kFirst), 3);
  EXPECT_EQ(got.at("DCGM_FI_DEV_THERMAL_VIOLATION" + kFirst), 2000);
  EXPECT_EQ(got.at("DCGM_FI_DEV_MAX_SM_CLOCK" + kFirst), 1980);
  EXPECT_EQ(got.count("DCGM_FI_DEV_POWER_USAGE" + kSecond), 0u)
      << "what a GPU does not tell is absent";
  const auto relations = bench.sampler().store().relations();
  ASSERT_EQ(relations.size(), 1u);
  EXPECT_EQ(relations[0].from, "process/node01:4711");
  EXPECT_EQ(relations[0].to, "gpu/node01:0");
  const auto settings = bench.sampler().store().settings();
  ASSERT_GE(settings.size(), 2u);
  EXPECT_EQ(settings[0].key, "driver.version");
  EXPECT_EQ(settings[0].value, "535.161.08");
}

TEST_F(Nvml, ALostGpuIsSaidOnceAndItsValuesAreAbsentWhileTheOtherGoesOn) {
  set_("0.power", 100'000);
  set_("1.power", 200'000);
  Bench bench(collector_nvml, world());
  EXPECT_EQ(bench.sample().at("DCGM_FI_DEV_POWER_USAGE" + kFirst), 100);
  set_("0.lost", 1);
  for (int i = 0; i < 3; ++i) {
    auto got = bench.sample();
    EXPECT_EQ(got.at("firstwait_gpu_lost" + kFirst), 1);
    EXPECT_EQ(got.count("DCGM_FI_DEV_POWER_USAGE" + kFirst), 0u);
    EXPECT_EQ(got.at("DCGM_FI_DEV_POWER_USAGE" + kSecond), 200);
  }
  const auto events = bench.sampler().store().events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, "gpu_lost");
  EXPECT_EQ(events[0].entity, "gpu/node01:0");
}

TEST_F(Nvml, XidsAreEventsAndTheLastOneStays) {
  set_("xid", 79);
  Bench bench(collector_nvml, world());
  bench.sample();
  auto got = bench.sample();
  EXPECT_EQ(got.at("DCGM_FI_DEV_XID_ERRORS" + kFirst), 79);
  ASSERT_EQ(bench.sampler().store().events().size(), 1u);
  EXPECT_EQ(bench.sampler().store().events()[0].attribute("code"), "79");
}

TEST_F(Nvml, SmActivityIsARatioBetweenTwoSamplings) {
  set_("0.gpm", 1000);
  Bench bench(collector_nvml, world());
  EXPECT_EQ(bench.sample().count("DCGM_FI_PROF_SM_ACTIVE" + kFirst), 0u);
  set_("0.gpm", 1025);
  auto got = bench.sample();
  EXPECT_EQ(got.at("DCGM_FI_PROF_SM_ACTIVE" + kFirst), 0.25);
  EXPECT_EQ(got.count("DCGM_FI_PROF_DRAM_ACTIVE" + kFirst), 0u);
}

TEST_F(Nvml, AHungCallStallsNoOtherCollector) {
  hang_(1);
  const Registered<Collector> modules[] = {{"loadavg", &collector_loadavg},
                                           {"nvml", &collector_nvml}};
  Sampler sampler({.world = world(), .periods = {{"loadavg", 20'000'000}}, .modules = modules});
  sampler.start();
  for (int i = 0; i < 1000 && sampler.states()[0].samplings < 5; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_GE(sampler.states()[0].samplings, 5u);
  EXPECT_GT(sampler.states()[1].hanging, 0);
  sampler.stop();
  hang_(0);
}

TEST_F(Nvml, WithoutTheLibraryItIsAbsent) {
  Bench bench(collector_nvml, World{Root{}, "node01", "/nonexistent/libnvidia-ml.so.1", nullptr});
  EXPECT_TRUE(bench.sample().empty());
  EXPECT_EQ(bench.presence(), Presence::absent);
}

}  // namespace
}  // namespace firstwait
