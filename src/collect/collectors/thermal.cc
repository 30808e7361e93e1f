// Temperatures of the thermal zones and how often cores were throttled by heat.
#include "base/text.h"
#include "collect/sys_values.h"

namespace firstwait {
namespace {

constexpr Metric kMetrics[] = {
    {"node_thermal_zone_temp", MetricKind::gauge, "Zone temperature in Celsius", 1000},
    {"node_cooling_device_cur_state", MetricKind::gauge,
     "Current throttle state of the cooling device"},
    {"node_cooling_device_max_state", MetricKind::gauge,
     "Maximum throttle state of the cooling device"},
    {"node_cpu_core_throttles_total", MetricKind::counter,
     "Number of times this CPU core has been throttled."},
    {"node_cpu_package_throttles_total", MetricKind::counter,
     "Number of times this CPU package has been throttled."}};

class Thermal final : public Sampling {
 public:
  explicit Thermal(const World& world) : sys_(world.root.sys) {}

  Presence sample(Out& out) override {
    if (search_.due(out.now())) search(out);
    const bool any = values_.sample(out);
    return any               ? Presence::present
           : values_.empty() ? Presence::absent
                             : presence_of(values_.error());
  }

 private:
  void search(Out& out) {
    values_.begin();
    const std::string dir = sys_ + "/class/thermal/";
    for (const std::string& name : list_directory(dir, 1024)) {
      const std::string at = dir + name + "/";
      const std::string type = read_line(at + "type").value_or("");
      if (name.starts_with("thermal_zone"))
        values_.add(at + "temp",
                    out.series(kMetrics[0], {{"type", type}, {"zone", name.substr(12)}}));
      if (name.starts_with("cooling_device"))
        for (const size_t i : {size_t{1}, size_t{2}})
          values_.add(at + (i == 1 ? "cur_state" : "max_state"),
                      out.series(kMetrics[i], {{"name", name.substr(14)}, {"type", type}}));
    }
    throttles(out);
    values_.end(out);
  }

  // Threads of one core share its count.
  void throttles(Out& out) {
    const std::string dir = sys_ + "/devices/system/cpu/";
    std::vector<SeriesId> seen;
    const auto once = [&](std::string path, SeriesId id) {
      if (std::find(seen.begin(), seen.end(), id) != seen.end()) return;
      seen.push_back(id);
      values_.add(std::move(path), id);
    };
    for (const std::string& name : list_directory(dir, 8192)) {
      int64_t number = 0;
      if (!name.starts_with("cpu") || !whole_number(std::string_view(name).substr(3), number))
        continue;
      const std::string at = dir + name + "/";
      const auto package = read_line(at + "topology/physical_package_id");
      const auto core = read_line(at + "topology/core_id");
      if (!package || !core) continue;
      if (read_line(at + "thermal_throttle/core_throttle_count"))
        once(at + "thermal_throttle/core_throttle_count",
             out.series(kMetrics[3], {{"core", *core}, {"package", *package}}));
      if (read_line(at + "thermal_throttle/package_throttle_count"))
        once(at + "thermal_throttle/package_throttle_count",
             out.series(kMetrics[4], {{"package", *package}}));
    }
  }

  std::string sys_;
  Occasionally search_{Ns{300} * 1'000'000'000};
  SysValues values_;
};

}  // namespace

extern const Collector collector_thermal{
    .name = "thermal",
    .what =
        "temperatures of the thermal zones, cooling devices, and how often heat throttled the "
        "cores",
    .metrics = kMetrics,
    .reads = "/sys/class/thermal, /sys/devices/system/cpu/cpu*/thermal_throttle",
    .needs = "not a virtual machine",
    .period = 10'000'000'000,
    .may_hang = true,
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Thermal>(w);
    }};

}  // namespace firstwait
