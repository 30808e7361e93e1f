// State of each network interface: carrier, link speed, MTU: /sys/class/net.
#include "collect/sys_values.h"

namespace firstwait {
namespace {

constexpr Metric kMetrics[] = {
    {"node_network_carrier", MetricKind::gauge, "Network device property: carrier"},
    {"node_network_carrier_changes_total", MetricKind::counter,
     "Network device property: carrier_changes_total"},
    {"node_network_carrier_down_changes_total", MetricKind::counter,
     "Network device property: carrier_down_changes_total"},
    {"node_network_mtu_bytes", MetricKind::gauge, "Network device property: mtu_bytes"},
    {"node_network_speed_bytes", MetricKind::gauge, "Network device property: speed_bytes"},
    {"node_network_up", MetricKind::gauge, "Value is 1 if operstate is 'up', 0 otherwise."}};

struct Property {
  std::string_view file;
  const Metric* metric;
  int64_t times;
};
// Cheap to read; the link's speed asks the driver, under the lock of all network settings.
constexpr Property kOften[] = {{"carrier", &kMetrics[0], 1},
                               {"carrier_changes", &kMetrics[1], 1},
                               {"carrier_down_count", &kMetrics[2], 1},
                               {"mtu", &kMetrics[3], 1}};

struct Device {
  std::string name;
  File operstate, speed;
  SeriesId up, bytes_per_second;
  int64_t last_speed = -1;
};

class Netclass final : public Sampling {
 public:
  explicit Netclass(const World& world) : dir_(world.root.sys + "/class/net") {}

  Presence sample(Out& out) override {
    if (search_.due(out.now())) search(out);
    if (devices_.empty()) return Presence::absent;
    values_.sample(out);
    const bool ask_speed = speeds_.due(out.now());
    for (Device& d : devices_) {
      if (const auto state = out.read(d.operstate)) out.put(d.up, state->starts_with("up") ? 1 : 0);
      if (ask_speed) {
        d.last_speed = -1;
        // A card without link answers -1, or that the question makes no sense.
        if (const auto text = out.read(d.speed)) whole_number(*text, d.last_speed);
      }
      constexpr int64_t kMegabit = 1'000'000 / 8;
      if (d.last_speed > 0 && d.last_speed < INT64_MAX / kMegabit) {
        if (d.bytes_per_second == kNoSeries)
          d.bytes_per_second = out.series(kMetrics[4], {{"device", d.name}});
        out.put(d.bytes_per_second, d.last_speed * kMegabit);
      }
    }
    return Presence::present;
  }

 private:
  void search(Out& out) {
    values_.begin();
    const auto before = std::move(devices_);
    devices_.clear();
    for (const std::string& name : list_directory(dir_, 4096)) {
      const std::string at = dir_ + "/" + name + "/";
      if (!read_line(at + "operstate")) continue;  // bonding_masters is a file
      for (const Property& p : kOften)
        values_.add(at + std::string(p.file), out.series(*p.metric, {{"device", name}}), p.times);
      devices_.push_back({name, File(at + "operstate", true), File(at + "speed", true),
                          out.series(kMetrics[5], {{"device", name}}), kNoSeries});
    }
    values_.end(out);
    for (const Device& d : before)
      if (std::none_of(devices_.begin(), devices_.end(),
                       [&](const Device& n) { return n.name == d.name; })) {
        out.release(d.up);
        out.release(d.bytes_per_second);
      }
    speeds_.reset();
  }

  std::string dir_;
  Occasionally search_, speeds_{Ns{10} * 1'000'000'000};
  SysValues values_;
  std::vector<Device> devices_;
};

}  // namespace

extern const Collector collector_netclass{
    .name = "netclass",
    .what = "state of each network interface: carrier and its changes, link speed, MTU",
    .metrics = kMetrics,
    .reads = "/sys/class/net",
    .needs = "the host's network namespace",
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Netclass>(w);
    }};

}  // namespace firstwait
