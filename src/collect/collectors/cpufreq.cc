// Clock of each core now, and its limits: cpufreq.
#include "collect/sys_values.h"

namespace firstwait {
namespace {

constexpr Metric kMetrics[] = {{"node_cpu_scaling_frequency_hertz", MetricKind::gauge,
                                "Current scaled CPU thread frequency in hertz."},
                               {"node_cpu_scaling_frequency_max_hertz", MetricKind::gauge,
                                "Maximum scaled CPU thread frequency in hertz."},
                               {"node_cpu_scaling_frequency_min_hertz", MetricKind::gauge,
                                "Minimum scaled CPU thread frequency in hertz."}};
constexpr std::string_view kFiles[] = {"cpufreq/scaling_cur_freq", "cpufreq/scaling_max_freq",
                                       "cpufreq/scaling_min_freq"};

class Cpufreq final : public Sampling {
 public:
  explicit Cpufreq(const World& world) : dir_(world.root.sys + "/devices/system/cpu/") {}

  Presence sample(Out& out) override {
    if (search_.due(out.now())) {
      values_.begin();
      for (const std::string& name : list_directory(dir_, 8192)) {
        int64_t number = 0;
        if (!name.starts_with("cpu") || !whole_number(std::string_view(name).substr(3), number))
          continue;
        for (size_t i = 0; i < 3; ++i) {
          const std::string path = dir_ + name + "/" + std::string(kFiles[i]);
          constexpr int64_t kKilohertz = 1000;
          if (read_line(path))
            values_.add(path, out.series(kMetrics[i], {{"cpu", name.substr(3)}}), kKilohertz);
        }
      }
      values_.end(out);
    }
    return values_.sample(out) ? Presence::present
           : values_.empty()   ? Presence::absent
                               : presence_of(values_.error());
  }

 private:
  std::string dir_;
  Occasionally search_{Ns{300} * 1'000'000'000};
  SysValues values_;
};

}  // namespace

extern const Collector collector_cpufreq{
    .name = "cpufreq",
    .what = "clock of each core now, and its limits",
    .metrics = kMetrics,
    .reads = "/sys/devices/system/cpu/cpu*/cpufreq",
    .needs = "a cpufreq driver (virtual machines have none)",
    .period = 10'000'000'000,  // asking a core for its clock may wake it
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Cpufreq>(w);
    }};

}  // namespace firstwait
