#include "collect/nvml_api.h"

#include <dlfcn.h>

#include <cstring>
#include <initializer_list>

namespace firstwait::nvml {
namespace {

// The first of these names that the library has: newer ones stand first.
template <typename F>
void find(void* library, F& function, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (void* symbol = ::dlsym(library, name)) {
      static_assert(sizeof symbol == sizeof function);
      std::memcpy(&function, &symbol, sizeof symbol);
      return;
    }
}

}  // namespace

bool load(const char* path, Api& a) {
  void* l = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (l == nullptr) return false;
  find(l, a.init, {"nvmlInit_v2", "nvmlInit"});
  find(l, a.device_count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  find(l, a.handle, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  find(l, a.uuid, {"nvmlDeviceGetUUID"});
  find(l, a.name, {"nvmlDeviceGetName"});
  find(l, a.driver_version, {"nvmlSystemGetDriverVersion"});
  find(l, a.pci, {"nvmlDeviceGetPciInfo_v3"});
  find(l, a.utilization, {"nvmlDeviceGetUtilizationRates"});
  find(l, a.memory, {"nvmlDeviceGetMemoryInfo"});
  find(l, a.clock, {"nvmlDeviceGetClockInfo"});
  find(l, a.max_clock, {"nvmlDeviceGetMaxClockInfo"});
  find(l, a.reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  find(l, a.temperature, {"nvmlDeviceGetTemperature"});
  find(l, a.temperature_threshold, {"nvmlDeviceGetTemperatureThreshold"});
  find(l, a.power, {"nvmlDeviceGetPowerUsage"});
  find(l, a.power_limit, {"nvmlDeviceGetEnforcedPowerLimit"});
  find(l, a.power_default_limit, {"nvmlDeviceGetPowerManagementDefaultLimit"});
  find(l, a.ecc, {"nvmlDeviceGetTotalEccErrors"});
  find(l, a.remapped, {"nvmlDeviceGetRemappedRows"});
  find(l, a.pcie_replays, {"nvmlDeviceGetPcieReplayCounter"});
  find(l, a.pcie_generation, {"nvmlDeviceGetCurrPcieLinkGeneration"});
  find(l, a.pcie_width, {"nvmlDeviceGetCurrPcieLinkWidth"});
  find(l, a.pcie_max_generation, {"nvmlDeviceGetMaxPcieLinkGeneration"});
  find(l, a.pcie_max_width, {"nvmlDeviceGetMaxPcieLinkWidth"});
  find(l, a.nvlink_state, {"nvmlDeviceGetNvLinkState"});
  find(l, a.nvlink_errors, {"nvmlDeviceGetNvLinkErrorCounter"});
  find(l, a.violation, {"nvmlDeviceGetViolationStatus"});
  find(l, a.processes,
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
  find(l, a.event_set_create, {"nvmlEventSetCreate"});
  find(l, a.event_set_free, {"nvmlEventSetFree"});
  find(l, a.event_register, {"nvmlDeviceRegisterEvents"});
  find(l, a.event_wait, {"nvmlEventSetWait_v2"});
  find(l, a.gpm_support, {"nvmlGpmQueryDeviceSupport"});
  find(l, a.gpm_alloc, {"nvmlGpmSampleAlloc"});
  find(l, a.gpm_free, {"nvmlGpmSampleFree"});
  find(l, a.gpm_sample, {"nvmlGpmSampleGet"});
  find(l, a.gpm_metrics, {"nvmlGpmMetricsGet"});
  return a.init != nullptr && a.device_count != nullptr && a.handle != nullptr;
}

}  // namespace firstwait::nvml
