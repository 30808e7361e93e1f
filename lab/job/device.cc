#include "device.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace lab {
namespace {

// An H100 SXM's (its data sheet and `nvidia-smi -q`), but for the two temperatures of a working
// one.
constexpr int64_t kClockMhz = 1980, kIdleMw = 75'000, kBusyMw = 560'000, kLimitMw = 700'000;
constexpr int64_t kMemory = int64_t{80} << 30, kMemoryUsed = int64_t{22} << 30;
constexpr int64_t kSlowdownC = 87, kWarmC = 61, kHotC = 88;

int64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

Device::Device(const std::string& folder, int index) {
  if (!folder.empty()) {
    const int fd =
        ::open((folder + "/" + std::to_string(index)).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    void* at = MAP_FAILED;
    if (fd >= 0 && ::ftruncate(fd, sizeof own_) == 0)
      at = ::mmap(nullptr, sizeof own_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0) ::close(fd);
    if (at != MAP_FAILED) state_ = static_cast<DeviceState*>(at);
  }
  auto& s = *state_;
  s.busy_ns = s.busy_since_ns = s.hot_ns = s.evaluation_ns = 0;
  s.max_sm_clock_mhz = kClockMhz;
  s.slowdown_temperature_c = kSlowdownC;
  s.idle_mw = kIdleMw;
  s.limit_mw = kLimitMw;
  s.memory_bytes = kMemory;
  s.memory_used_bytes = kMemoryUsed;
  s.pid = ::getpid();
  set(Knobs{});
}

Device::~Device() {
  if (state_ == &own_) return;
  state_->pid = 0;
  ::munmap(static_cast<void*>(state_), sizeof own_);
}

void Device::set(const Knobs& knobs) {
  clock_ = std::clamp(knobs.device_clock, 0.01, 1.0);
  auto& s = *state_;
  s.sm_clock_mhz = std::llround(clock_ * static_cast<double>(kClockMhz));
  s.reasons = knobs.device_reasons;
  s.temperature_c = (knobs.device_reasons & kThermalReasons) != 0 ? kHotC : kWarmC;
  s.busy_mw = kIdleMw + std::llround(clock_ * static_cast<double>(kBusyMw - kIdleMw));
}

void Device::compute(double ms) {
  const double wait = ms / clock_;
  timespec t{static_cast<time_t>(wait / 1e3), static_cast<long>(wait * 1e6) % 1'000'000'000};
  const int64_t start = now_ns();
  state_->busy_since_ns = start;
  while (::nanosleep(&t, &t) != 0) continue;
  const int64_t took = now_ns() - start;
  state_->busy_since_ns = 0;
  state_->busy_ns += took;
  if ((state_->reasons & kThermalReasons) != 0) state_->hot_ns += took;
}

void Device::evaluate(double ms) {
  const int64_t before = state_->busy_ns;
  compute(ms);
  state_->evaluation_ns += state_->busy_ns - before;
}

}  // namespace lab
