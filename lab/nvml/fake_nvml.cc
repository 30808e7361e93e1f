// A library with the face of NVML: two GPUs whose values a test sets by name, or those that a job
// of the lab emulates (devices.h).
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "devices.h"

namespace {

std::mutex g_mutex;
std::map<std::string, long long> g_values;  // "0.power"
std::atomic<bool> g_hang{false};

long long index_of(void* device) {
  return static_cast<long long>(reinterpret_cast<intptr_t>(device)) - 1;
}

// 15 when the GPU is lost, 3 when the value is not set.
template <typename T>
int get(void* device, const char* key, T* out) {
  while (g_hang) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::lock_guard lock(g_mutex);
  if (lab::device_count()) {
    const auto value = lab::device_value(static_cast<unsigned>(index_of(device)), key);
    if (value) *out = static_cast<T>(*value);
    return value ? 0 : 3;
  }
  const std::string gpu = std::to_string(index_of(device)) + ".";
  if (g_values.count(gpu + "lost") != 0) return 15;
  const auto found = g_values.find(gpu + key);
  if (found == g_values.end()) return 3;
  *out = static_cast<T>(found->second);
  return 0;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)
// NOLINTBEGIN(readability-identifier-naming, performance-no-int-to-ptr): the names and handles are
// NVML's.

void fake_nvml_set(const char* key, long long value) {
  const std::lock_guard lock(g_mutex);
  g_values[key] = value;
}
void fake_nvml_clear() {
  const std::lock_guard lock(g_mutex);
  g_values.clear();
}
void fake_nvml_hang(int hang) { g_hang = hang != 0; }

int nvmlInit_v2() { return 0; }
int nvmlDeviceGetCount_v2(unsigned* n) {
  *n = lab::device_count().value_or(2);
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** device) {
  *device = reinterpret_cast<void*>(static_cast<intptr_t>(i + 1));
  return 0;
}
int nvmlDeviceGetUUID(void* d, char* text, unsigned n) {
  char host[65] = {};
  if (lab::device_count() && ::gethostname(host, sizeof host - 1) == 0)
    std::snprintf(text, n, "GPU-emulated-%s-%lld", host, index_of(d));
  else
    std::snprintf(text, n, "GPU-%lld", index_of(d));
  return 0;
}
int nvmlDeviceGetName(void*, char* text, unsigned n) {
  std::snprintf(text, n, "%s",
                lab::device_count() ? "emulated accelerator" : "NVIDIA H100 80GB HBM3");
  return 0;
}
int nvmlSystemGetDriverVersion(char* text, unsigned n) {
  std::snprintf(text, n, "%s", lab::device_count() ? "emulated" : "535.161.08");
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* d, unsigned* two) {
  two[1] = 0;
  const int r = get(d, "util", two);
  return r != 0 || lab::device_count() ? r : get(d, "memory_util", two + 1);
}
int nvmlDeviceGetMemoryInfo(void* d, unsigned long long* three) {
  const int r = get(d, "free", three + 1);
  return r != 0 ? r : get(d, "used", three + 2);
}
int nvmlDeviceGetClockInfo(void* d, unsigned type, unsigned* out) {
  return get(d, type == 1 ? "sm_clock" : "mem_clock", out);
}
int nvmlDeviceGetMaxClockInfo(void* d, unsigned, unsigned* out) {
  return get(d, "max_sm_clock", out);
}
// The old name alone: drivers before 535 have no other.
int nvmlDeviceGetCurrentClocksThrottleReasons(void* d, unsigned long long* out) {
  return get(d, "reasons", out);
}
int nvmlDeviceGetTemperature(void* d, unsigned, unsigned* out) {
  return get(d, "temperature", out);
}
int nvmlDeviceGetTemperatureThreshold(void* d, unsigned type, unsigned* out) {
  return type == 1 ? get(d, "slowdown", out) : 3;
}
int nvmlDeviceGetPowerUsage(void* d, unsigned* out) { return get(d, "power", out); }
int nvmlDeviceGetEnforcedPowerLimit(void* d, unsigned* out) { return get(d, "power_limit", out); }
int nvmlDeviceGetPowerManagementDefaultLimit(void* d, unsigned* out) {
  return get(d, "power_default_limit", out);
}
int nvmlDeviceGetTotalEccErrors(void* d, unsigned type, unsigned, unsigned long long* out) {
  return get(d, type == 0 ? "sbe" : "dbe", out);
}
int nvmlDeviceGetRemappedRows(void* d, unsigned* c, unsigned* u, unsigned* pending,
                              unsigned* failure) {
  *u = *pending = *failure = 0;
  get(d, "remap_pending", pending);
  get(d, "remap_failure", failure);
  return get(d, "remapped", c);
}
int nvmlDeviceGetPcieReplayCounter(void* d, unsigned* out) { return get(d, "replays", out); }
int nvmlDeviceGetCurrPcieLinkGeneration(void* d, unsigned* out) { return get(d, "gen", out); }
int nvmlDeviceGetCurrPcieLinkWidth(void* d, unsigned* out) { return get(d, "width", out); }
int nvmlDeviceGetMaxPcieLinkGeneration(void* d, unsigned* out) { return get(d, "max_gen", out); }
int nvmlDeviceGetNvLinkState(void* d, unsigned link, unsigned* out) {
  return link >= 4 ? 2 : get(d, ("link" + std::to_string(link)).c_str(), out);
}
int nvmlDeviceGetNvLinkErrorCounter(void* d, unsigned, unsigned counter, unsigned long long* out) {
  return counter == 2 ? get(d, "flit", out) : 3;
}
int nvmlDeviceGetViolationStatus(void* d, unsigned policy, unsigned long long* two) {
  two[0] = 0;
  return get(d, policy == 0 ? "power_violation" : "thermal_violation", two + 1);
}
struct FakeProcess {
  unsigned pid;
  unsigned long long memory;
  unsigned instance, compute;
};
int nvmlDeviceGetComputeRunningProcesses_v3(void* d, unsigned* n, FakeProcess* out) {
  unsigned pid = 0;
  const int r = get(d, "pid", &pid);
  if (r == 15) return r;
  *n = r == 0 ? 1 : 0;
  if (r == 0) *out = {pid, 1, 0, 0};
  return 0;
}
int nvmlEventSetCreate(void** set) {
  *set = reinterpret_cast<void*>(intptr_t{7});
  return 0;
}
int nvmlEventSetFree(void*) { return 0; }
int nvmlDeviceRegisterEvents(void*, unsigned long long, void*) { return 0; }
struct FakeEvent {
  void* device;
  unsigned long long type, data;
  unsigned a, b;
};
int nvmlEventSetWait_v2(void*, FakeEvent* out, unsigned) {
  const std::lock_guard lock(g_mutex);
  const auto found = g_values.find("xid");
  if (found == g_values.end()) return 10;
  *out = {reinterpret_cast<void*>(intptr_t{1}), 8, static_cast<unsigned long long>(found->second),
          0, 0};
  g_values.erase(found);
  return 0;
}
int nvmlGpmQueryDeviceSupport(void*, unsigned* two) {
  two[1] = lab::device_count() ? 0 : 1;
  return 0;
}
int nvmlGpmSampleAlloc(void** sample) {
  *sample = new long long(0);
  return 0;
}
int nvmlGpmSampleFree(void* sample) {
  delete static_cast<long long*>(sample);
  return 0;
}
int nvmlGpmSampleGet(void* d, void* sample) {
  return get(d, "gpm", static_cast<long long*>(sample));
}
struct FakeGpmMetric {
  unsigned id;
  int result;
  double value;
  const char* names[3];
};
struct FakeGpm {
  unsigned version, count;
  long long *first, *second;
  FakeGpmMetric metrics[512];
};
int nvmlGpmMetricsGet(FakeGpm* g) {
  if (g->version != 1) return 25;
  for (unsigned i = 0; i < g->count; ++i) {
    g->metrics[i].result = g->metrics[i].id == 2 ? 0 : 3;
    g->metrics[i].value = static_cast<double>(*g->second - *g->first);
  }
  return 0;
}
// NOLINTEND(readability-identifier-naming, performance-no-int-to-ptr)
#pragma GCC visibility pop
}
