// What is known of each GPU: clocks, power, temperature, throttle reasons, load.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "explain/placing.h"

namespace firstwait {

// NVML's clocks event reasons (nvmlClocksEventReasons).
namespace gpu_reason {
inline constexpr uint64_t kIdle = 0x1, kApplicationClocks = 0x2, kSoftwarePowerCap = 0x4,
                          kHardwareSlowdown = 0x8, kSyncBoost = 0x10, kSoftwareThermal = 0x20,
                          kHardwareThermal = 0x40, kPowerBrake = 0x80, kDisplayClocks = 0x100;
}

inline constexpr Phase kComputePhases[] = {Phase::forward, Phase::backward, Phase::optimizer};
inline constexpr Phase kComputeOrUnexplained[] = {Phase::forward, Phase::backward, Phase::optimizer,
                                                  Phase::unexplained};

inline constexpr Threshold kUnderLoad{"GPU under load", 0.5, "ratio",
                                      "NVML nvmlUtilization_t: the time in which a kernel ran; "
                                      "from half on, most samples show a working GPU"};
inline constexpr Threshold kReasonActive{
    "reason active", 0.1, "ratio",
    "NVML: a hardware slowdown at least halves the clock; for a tenth of the time that is 5 % of "
    "the computing, "
    "the error of the replay above which nothing is concluded"};
inline constexpr Threshold kClockDrop{"clock below normal", 0.05, "ratio",
                                      "compute-bound work scales with the clock; 5 % is the error "
                                      "of the replay above which nothing is concluded"};

struct Gpu {
  std::string entity;  // "gpu/node07:2"
  int32_t rank = -1;
  Reading clock_mhz, power_w, temperature_c,
      utilization;  // entity empty: not known; utilization 0..1
  double clock_max_mhz = kNaN, power_limit_w = kNaN, slowdown_c = kNaN;
  // The clock it should run at: its own past, else the median of its peers of the same model under
  // load, else its maximum.
  double normal_clock_mhz = kNaN;
  // What its limit should be: the board's default, else the median of its peers.
  double normal_limit_w = kNaN;
  std::string model;
  std::optional<bool> under_load;  // nothing: not known
};

// All GPUs on which anything is known; those of the job only, when it is known which those are.
std::vector<Gpu> gpus(const View& view);
// The GPU with this name, or nothing; `all` as gpus() gives it.
const Gpu* gpu_of(const std::vector<Gpu>& all, std::string_view entity);
// Readings of GPUs that belong to the job (as for gpus).
std::vector<Reading> of_job(const View& view, std::vector<Reading> readings);
// Share of samples with any of these reasons, per GPU.
std::vector<Reading> throttled(const View& view, uint64_t reasons);
// A number that metrics or settings tell of GPUs, the first name that knows a GPU first ("16x" and
// "700.00 W" count).
class GpuNumbers {
 public:
  GpuNumbers(const View& view, std::initializer_list<std::string_view> names);
  double of(const std::string& gpu) const;  // NaN: none

 private:
  std::map<std::string, double> numbers_;
};
// Seconds per step that a clock of `now` instead of `normal` can cost at most; NaN when unknown.
double clock_cost(const View& view, double now_mhz, double normal_mhz);
// Hints for a clock below normal, contradicts for one that is not; nothing unless under load.
void weigh_clock(Weighing& w, const Gpu& gpu);
// "GPU 2 of node07" for people.
std::string gpu_label(std::string_view entity);
// "GPU 2 of node07" or "8 GPUs of node07" or "12 GPUs on 2 hosts".
std::string gpu_group(const std::vector<std::string>& entities);
// The GPUs whose share is at least kReasonActive, the largest share first.
std::vector<Reading> active(std::vector<Reading> shares);

}  // namespace firstwait
