#include "explain/action_table.h"

namespace firstwait {
namespace {
constexpr std::string_view kGpuCooling[] = {"gpu.thermal_throttle"};
constexpr std::string_view kGpuRaisePowerLimit[] = {"gpu.power_cap"};
constexpr std::string_view kGpuUnlockClocks[] = {"gpu.clocks_limited"};
constexpr std::string_view kGpuReplace[] = {"gpu.hardware_errors", "gpu.pcie_degraded",
                                            "gpu.nvlink_degraded", "gpu.slow_device"};
constexpr std::string_view kGpuEvictNeighbour[] = {"gpu.shared", "contention.gpu"};
constexpr std::string_view kGpuConnectNvlink[] = {"gpu.nvlink_absent"};
constexpr std::string_view kGpuFreeMemory[] = {"gpu.memory_full", "workload.memory_fragmentation"};
constexpr ActionRow kRows[] = {
    {"gpu.cooling", "Restore cooling: fans, inlet temperature, dust", kGpuCooling,
     GainModel::excess, ""},
    {"gpu.raise_power_limit", "Raise the power limit", kGpuRaisePowerLimit, GainModel::excess,
     "Needs power and cooling for it: ask the site"},
    {"gpu.unlock_clocks", "Remove the clock limit", kGpuUnlockClocks, GainModel::excess,
     "It may have been set on purpose: ask who set it"},
    {"gpu.replace", "Replace the GPU, its riser or its cable", kGpuReplace, GainModel::excess,
     "Reseat and run diagnostics first"},
    {"gpu.evict_neighbour", "Move the other process off the GPU", kGpuEvictNeighbour,
     GainModel::excess, "Ask its owner"},
    {"gpu.connect_nvlink", "Place the ranks on GPUs that NVLink joins", kGpuConnectNvlink,
     GainModel::none, "Depends on the machine: not all have it"},
    {"gpu.free_memory",
     "Hold less memory: smaller batch, activation checkpointing, sharded optimizer", kGpuFreeMemory,
     GainModel::none, "Recomputing activations costs compute"},
};
}  // namespace
extern const ActionTable action_table_gpu{"gpu", kRows};
}  // namespace firstwait
