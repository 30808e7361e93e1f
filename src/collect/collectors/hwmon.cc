// Temperatures, fans and power of the machine's own sensors: /sys/class/hwmon.
#include <climits>
#include <cstdlib>

#include "base/text.h"
#include "collect/sys_values.h"

namespace firstwait {
namespace {

constexpr int64_t kMilli = 1000, kMicro = 1'000'000;
constexpr Metric kMetrics[] = {
    {"node_hwmon_temp_celsius", MetricKind::gauge, "Hardware monitor for temperature (input)",
     kMilli},
    {"node_hwmon_temp_max_celsius", MetricKind::gauge, "Hardware monitor for temperature (max)",
     kMilli},
    {"node_hwmon_temp_crit_celsius", MetricKind::gauge, "Hardware monitor for temperature (crit)",
     kMilli},
    {"node_hwmon_temp_crit_alarm_celsius", MetricKind::gauge,
     "Hardware monitor for temperature (crit_alarm)", kMilli},
    {"node_hwmon_fan_rpm", MetricKind::gauge,
     "Hardware monitor for fan revolutions per minute (input)"},
    {"node_hwmon_fan_min_rpm", MetricKind::gauge,
     "Hardware monitor for fan revolutions per minute (min)"},
    {"node_hwmon_fan_alarm", MetricKind::gauge, "Hardware sensor alarm status (fan)"},
    {"node_hwmon_power_watt", MetricKind::gauge,
     "Hardware monitor for power usage in watts (input)", kMicro},
    {"node_hwmon_power_average_watt", MetricKind::gauge,
     "Hardware monitor for power usage in watts (average)", kMicro},
    {"node_hwmon_chip_names", MetricKind::gauge, "Annotation metric for human-readable chip names"},
    {"node_hwmon_sensor_label", MetricKind::gauge, "Label for given chip and sensor"}};

struct Property {
  std::string_view type, property;
  const Metric* metric;
};
constexpr Property kProperties[] = {
    {"temp", "input", &kMetrics[0]},   {"temp", "max", &kMetrics[1]},
    {"temp", "crit", &kMetrics[2]},    {"temp", "crit_alarm", &kMetrics[3]},
    {"fan", "input", &kMetrics[4]},    {"fan", "min", &kMetrics[5]},
    {"fan", "alarm", &kMetrics[6]},    {"power", "input", &kMetrics[7]},
    {"power", "average", &kMetrics[8]}};

constexpr std::string_view kTypes[] = {"temp",   "fan",  "power", "in",      "curr",
                                       "energy", "freq", "pwm",   "humidity"};

// As node_exporter writes names: lower case, other characters than letters, digits, ':' and '_' as
// '_', none at the ends.
std::string clean(std::string_view name) {
  std::string out;
  for (const char c : to_lower(name))
    out += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ':' ? c : '_';
  const size_t first = out.find_first_not_of('_');
  return first == std::string::npos ? "" : out.substr(first, out.find_last_not_of('_') - first + 1);
}

std::optional<std::string> real_path(const std::string& path) {
  char buffer[PATH_MAX];
  if (::realpath(path.c_str(), buffer) == nullptr) return std::nullopt;
  return std::string(buffer);
}

class Hwmon final : public Sampling {
 public:
  explicit Hwmon(const World& world) : dir_(world.root.sys + "/class/hwmon") {}

  Presence sample(Out& out) override {
    if (search_.due(out.now())) search(out);
    const bool any = values_.sample(out);
    for (const SeriesId id : constants_) out.put(id, 1);
    return any               ? Presence::present
           : values_.empty() ? Presence::absent
                             : presence_of(values_.error());
  }

 private:
  struct Chip {
    std::string dir, device, name;  // name: as a label
  };

  static Chip chip_of(const std::string& dir) {
    Chip chip{dir, real_path(dir + "/device").value_or(""), {}};
    if (!chip.device.empty()) {
      const size_t slash = chip.device.rfind('/');
      const size_t before =
          slash == 0 || slash == std::string::npos ? 0 : chip.device.rfind('/', slash - 1) + 1;
      const std::string device = clean(std::string_view(chip.device).substr(slash + 1));
      const std::string type = clean(std::string_view(chip.device).substr(before, slash - before));
      chip.name = type.empty() || device.empty() ? device : type + "_" + device;
    }
    if (chip.name.empty()) chip.name = clean(read_line(dir + "/name").value_or(""));
    if (chip.name.empty()) {
      const std::string real = real_path(dir).value_or(dir);
      chip.name = clean(std::string_view(real).substr(real.rfind('/') + 1));
    }
    return chip;
  }

  void search(Out& out) {
    std::vector<Chip> chips;
    for (const std::string& name : list_directory(dir_, 512))
      chips.push_back(chip_of(dir_ + "/" + name));
    // Several chips of one device are told apart by their own names.
    for (Chip& chip : chips) {
      const auto same = std::count_if(chips.begin(), chips.end(), [&](const Chip& c) {
        return !c.device.empty() && c.device == chip.device;
      });
      if (same < 2) continue;
      if (const std::string own = clean(read_line(chip.dir + "/name").value_or("")); !own.empty())
        chip.name += "_" + own;
    }
    values_.begin();
    const std::vector<SeriesId> before = std::move(constants_);
    constants_.clear();
    for (const Chip& chip : chips) {
      size_t found = sensors(chip.dir, chip.name, out);
      if (!chip.device.empty()) found += sensors(chip.dir + "/device", chip.name, out);
      if (const auto name = read_line(chip.dir + "/name");
          found > 0 && name && !clean(*name).empty())
        constants_.push_back(
            out.series(kMetrics[9], {{"chip", chip.name}, {"chip_name", clean(*name)}}));
    }
    values_.end(out);
    for (const SeriesId id : before)
      if (std::find(constants_.begin(), constants_.end(), id) == constants_.end()) out.release(id);
  }

  // "temp1_input": type, number, property. How many files are of a known kind.
  size_t sensors(const std::string& dir, const std::string& chip, Out& out) {
    size_t found = 0;
    for (const std::string& file : list_directory(dir, 2048)) {
      const size_t digit = file.find_first_of("0123456789");
      if (digit == 0 || digit == std::string::npos) continue;
      const size_t end = std::min(file.find_first_not_of("0123456789", digit), file.size());
      if (end >= file.size() || file[end] != '_') continue;
      const std::string_view type = std::string_view(file).substr(0, digit),
                             property = std::string_view(file).substr(end + 1);
      const std::string sensor = file.substr(0, end);
      const std::string path = dir + "/" + file;
      if (std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes)) continue;
      ++found;
      if (property == "label") {
        if (const auto label = read_line(path))
          constants_.push_back(
              out.series(kMetrics[10], {{"chip", chip}, {"label", *label}, {"sensor", sensor}}));
        continue;
      }
      for (const Property& p : kProperties)
        if (p.type == type && p.property == property)
          values_.add(path, out.series(*p.metric, {{"chip", chip}, {"sensor", sensor}}));
    }
    return found;
  }

  std::string dir_;
  Occasionally search_{Ns{300} * 1'000'000'000};
  SysValues values_;
  std::vector<SeriesId> constants_;
};

}  // namespace

extern const Collector collector_hwmon{
    .name = "hwmon",
    .what = "temperatures, fans and power of the machine's own sensors",
    .metrics = kMetrics,
    .reads = "/sys/class/hwmon",
    .needs = "drivers of the sensors",
    .period = 10'000'000'000,  // a sensor behind a slow bus takes milliseconds
    .may_hang = true,
    .make = [](const World& w) -> std::unique_ptr<Sampling> { return std::make_unique<Hwmon>(w); }};

}  // namespace firstwait
