// Energy that packages, cores and memory used: powercap's RAPL zones.
#include "collect/sys_values.h"

namespace firstwait {
namespace {

constexpr Metric kMetrics[] = {
    {"node_rapl_*_joules_total", MetricKind::counter, "Current RAPL * value in joules", 1'000'000}};

class Rapl final : public Sampling {
 public:
  explicit Rapl(const World& world) : dir_(world.root.sys + "/class/powercap") {}

  Presence sample(Out& out) override {
    if (search_.due(out.now())) search(out);
    return values_.sample(out) ? Presence::present
           : values_.empty()   ? Presence::absent
                               : presence_of(values_.error());
  }

 private:
  void search(Out& out) {
    values_.begin();
    std::map<std::string, int> seen;
    for (const std::string& zone : list_directory(dir_, 256)) {
      // The memory-mapped zones repeat the others.
      if (zone.find(':') == std::string::npos || zone.find("mmio") != std::string::npos) continue;
      const std::string path = dir_ + "/" + zone;
      const auto full = read_line(path + "/name");
      if (!full || full->empty()) continue;
      std::string name = *full, index;
      const size_t dash = name.rfind('-');
      int64_t number = 0;
      if (dash != std::string::npos &&
          whole_number(std::string_view(name).substr(dash + 1), number)) {
        index = name.substr(dash + 1);
        name.resize(dash);
      } else {
        index = std::to_string(seen[name]++);
      }
      for (char& c : name)
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) c = '_';
      values_.add(path + "/energy_uj",
                  out.series(kMetrics[0],
                             std::initializer_list<Label>{{"index", index}, {"path", path}}, name));
    }
    values_.end(out);
  }

  std::string dir_;
  Occasionally search_{Ns{300} * 1'000'000'000};
  SysValues values_;
};

}  // namespace

extern const Collector collector_rapl{
    .name = "rapl",
    .what = "energy that packages, cores and memory used",
    .metrics = kMetrics,
    .reads = "/sys/class/powercap/*/energy_uj",
    .needs = "CAP_DAC_READ_SEARCH (energy is readable for root alone); not a virtual machine",
    .period = 5'000'000'000,
    .make = [](const World& w) -> std::unique_ptr<Sampling> { return std::make_unique<Rapl>(w); }};

}  // namespace firstwait
