// What is used of NVIDIA's management library, declared by ourselves: the library is loaded at run
// time, when it is there. Names, values and layouts are those of its public interface.
#pragma once
#include <cstdint>

namespace firstwait::nvml {

using Device = void*;
using EventSet = void*;
using GpmSample = void*;
enum Return : int {
  kSuccess = 0,
  kNotSupported = 3,
  kNoPermission = 4,
  kInsufficientSize = 7,
  kTimeout = 10,
  kGpuIsLost = 15
};

struct Utilization {
  unsigned gpu, memory;  // per cent
};
struct Memory {
  unsigned long long total, free, used;  // bytes
};
struct ViolationTime {
  unsigned long long reference_time, violation_time;  // ns
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct EventData {
  Device device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
struct GpmMetric {
  unsigned id;
  Return result;
  double value;
  struct {
    const char* short_name;
    const char* long_name;
    const char* unit;
  } info;
};
struct GpmMetrics {
  unsigned version, count;
  GpmSample first, second;
  GpmMetric metrics[512];  // more than any version of the library writes; `count` says how many are
                           // asked for
};
struct GpmSupport {
  unsigned version, supported;
};
inline constexpr unsigned kVersion1 = 1;
inline constexpr unsigned kClockSm = 1, kClockMemory = 2;
inline constexpr unsigned kCorrected = 0, kUncorrected = 1, kVolatile = 0;
inline constexpr unsigned long long kEventXid = 8;

// Each is null when the library lacks it.
struct Api {
  Return (*init)() = nullptr;
  Return (*device_count)(unsigned*) = nullptr;
  Return (*handle)(unsigned, Device*) = nullptr;
  Return (*uuid)(Device, char*, unsigned) = nullptr;
  Return (*name)(Device, char*, unsigned) = nullptr;
  Return (*driver_version)(char*, unsigned) = nullptr;
  Return (*pci)(Device, PciInfo*) = nullptr;
  Return (*utilization)(Device, Utilization*) = nullptr;
  Return (*memory)(Device, Memory*) = nullptr;
  Return (*clock)(Device, unsigned, unsigned*) = nullptr;
  Return (*max_clock)(Device, unsigned, unsigned*) = nullptr;
  Return (*reasons)(Device, unsigned long long*) = nullptr;
  Return (*temperature)(Device, unsigned, unsigned*) = nullptr;
  Return (*temperature_threshold)(Device, unsigned, unsigned*) = nullptr;
  Return (*power)(Device, unsigned*) = nullptr;
  Return (*power_limit)(Device, unsigned*) = nullptr;
  Return (*power_default_limit)(Device, unsigned*) = nullptr;
  Return (*ecc)(Device, unsigned, unsigned, unsigned long long*) = nullptr;
  Return (*remapped)(Device, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
  Return (*pcie_replays)(Device, unsigned*) = nullptr;
  Return (*pcie_generation)(Device, unsigned*) = nullptr;
  Return (*pcie_width)(Device, unsigned*) = nullptr;
  Return (*pcie_max_generation)(Device, unsigned*) = nullptr;
  Return (*pcie_max_width)(Device, unsigned*) = nullptr;
  Return (*nvlink_state)(Device, unsigned, unsigned*) = nullptr;
  Return (*nvlink_errors)(Device, unsigned, unsigned, unsigned long long*) = nullptr;
  Return (*violation)(Device, unsigned, ViolationTime*) = nullptr;
  Return (*processes)(Device, unsigned*, ProcessInfo*) = nullptr;
  Return (*event_set_create)(EventSet*) = nullptr;
  Return (*event_set_free)(EventSet) = nullptr;
  Return (*event_register)(Device, unsigned long long, EventSet) = nullptr;
  Return (*event_wait)(EventSet, EventData*, unsigned) = nullptr;
  Return (*gpm_support)(Device, GpmSupport*) = nullptr;
  Return (*gpm_alloc)(GpmSample*) = nullptr;
  Return (*gpm_free)(GpmSample) = nullptr;
  Return (*gpm_sample)(Device, GpmSample) = nullptr;
  Return (*gpm_metrics)(GpmMetrics*) = nullptr;
};

// False when the library is not there or is none of NVML. It stays loaded.
bool load(const char* library, Api& api);

}  // namespace firstwait::nvml
