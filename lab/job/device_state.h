// What an emulated accelerator shows of itself, one file per device: mapped by the rank that drives
// it, by the library with the face of NVML, and read by the lab for its proofs.
#pragma once
#include <atomic>
#include <cstdint>

namespace lab {

// Counters grow from the job's start. kit/device.py has the same fields in the same order.
struct DeviceState {
  using Number = std::atomic<int64_t>;
  Number busy_ns;        // of work that is done
  Number busy_since_ns;  // CLOCK_MONOTONIC of the work in progress; 0: idle
  Number hot_ns;         // of busy_ns, while heat held the clock down
  Number evaluation_ns;  // of busy_ns, evaluation
  Number sm_clock_mhz, max_sm_clock_mhz;
  Number reasons;  // why the clock is low, NVML's bits
  Number temperature_c, slowdown_temperature_c;
  Number idle_mw, busy_mw, limit_mw;
  Number memory_bytes, memory_used_bytes;
  Number pid;  // of the rank; 0: nobody
};
static_assert(sizeof(DeviceState) == 15 * sizeof(int64_t));

// NVML: a device that is too hot shows one of these.
inline constexpr int64_t kThermalReasons = 0x20 | 0x40;

}  // namespace lab
