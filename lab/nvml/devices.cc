#include "devices.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>

#include "job/device_state.h"

namespace lab {
namespace {

struct Seen {
  const DeviceState* state = nullptr;
  int64_t asked_ns = 0, busy_ns = 0;
  std::optional<double> busy;  // share of the time between the last two questions
};

std::string folder() {
  const char* named = std::getenv("LAB_DEVICES");
  return named == nullptr ? std::string() : std::string(named);
}

// One reader: the library's caller holds a lock.
std::map<unsigned, Seen>& seen() {
  static std::map<unsigned, Seen> devices;
  return devices;
}

const DeviceState* open_state(unsigned index) {
  const int fd = ::open((folder() + "/" + std::to_string(index)).c_str(), O_RDONLY | O_CLOEXEC);
  struct stat s {};
  void* at = MAP_FAILED;
  if (fd >= 0 && ::fstat(fd, &s) == 0 && s.st_size >= static_cast<off_t>(sizeof(DeviceState)))
    at = ::mmap(nullptr, sizeof(DeviceState), PROT_READ, MAP_SHARED, fd, 0);
  if (fd >= 0) ::close(fd);
  return at == MAP_FAILED ? nullptr : static_cast<const DeviceState*>(at);
}

int64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

void look(Seen& d) {
  const int64_t now = now_ns(), since = d.state->busy_since_ns;
  const int64_t busy = d.state->busy_ns + (since > 0 ? std::max<int64_t>(0, now - since) : 0);
  // Work that ends between the two loads is counted once too little, or the job is a new one.
  if (d.asked_ns > 0 && now > d.asked_ns)
    d.busy = std::clamp(
        static_cast<double>(busy - d.busy_ns) / static_cast<double>(now - d.asked_ns), 0.0, 1.0);
  d.asked_ns = now;
  d.busy_ns = busy;
}

long long percent(const Seen& d) { return std::llround(100 * *d.busy); }

// Power follows the load, as its driver's average over a second does.
long long power(const Seen& d) {
  const auto idle = static_cast<double>(d.state->idle_mw),
             full = static_cast<double>(d.state->busy_mw);
  return std::llround(idle + *d.busy * (full - idle));
}

struct Value {
  std::string_view key;
  long long (*of)(const DeviceState&);
};
constexpr Value kValues[] = {
    {"sm_clock", [](const DeviceState& s) -> long long { return s.sm_clock_mhz; }},
    {"max_sm_clock", [](const DeviceState& s) -> long long { return s.max_sm_clock_mhz; }},
    {"reasons", [](const DeviceState& s) -> long long { return s.reasons; }},
    {"temperature", [](const DeviceState& s) -> long long { return s.temperature_c; }},
    {"slowdown", [](const DeviceState& s) -> long long { return s.slowdown_temperature_c; }},
    {"power_limit", [](const DeviceState& s) -> long long { return s.limit_mw; }},
    {"power_default_limit", [](const DeviceState& s) -> long long { return s.limit_mw; }},
    {"used", [](const DeviceState& s) -> long long { return s.memory_used_bytes; }},
    {"free",
     [](const DeviceState& s) -> long long { return s.memory_bytes - s.memory_used_bytes; }},
    {"thermal_violation", [](const DeviceState& s) -> long long { return s.hot_ns; }},
};

}  // namespace

std::optional<unsigned> device_count() {
  const std::string in = folder();
  if (in.empty()) return std::nullopt;
  unsigned n = 0;
  struct stat s {};
  while (::stat((in + "/" + std::to_string(n)).c_str(), &s) == 0) ++n;
  return n;
}

std::optional<long long> device_value(unsigned index, std::string_view key) {
  Seen& d = seen()[index];
  if (d.state == nullptr) d.state = open_state(index);
  if (d.state == nullptr || d.state->max_sm_clock_mhz == 0) return std::nullopt;
  if (key == "util") look(d);
  if (key == "util") return d.busy ? std::optional(percent(d)) : std::nullopt;
  if (key == "power") return d.busy ? std::optional(power(d)) : std::nullopt;
  if (key == "pid") return d.state->pid > 0 ? std::optional<long long>(d.state->pid) : std::nullopt;
  for (const Value& v : kValues)
    if (v.key == key) return v.of(*d.state);
  return std::nullopt;
}

}  // namespace lab
