// Time in which work stood still for want of CPU, memory or I/O: /proc/pressure.
#include "collect/collector.h"

namespace firstwait {
namespace {

constexpr int64_t kMicro = 1'000'000;
constexpr Metric kMetrics[] = {
    {"node_pressure_cpu_waiting_seconds_total", MetricKind::counter,
     "Total time in seconds that processes have waited for CPU time.", kMicro},
    {"node_pressure_memory_waiting_seconds_total", MetricKind::counter,
     "Total time in seconds that processes have waited for memory.", kMicro},
    {"node_pressure_memory_stalled_seconds_total", MetricKind::counter,
     "Total time in seconds no process could make progress due to memory congestion.", kMicro},
    {"node_pressure_io_waiting_seconds_total", MetricKind::counter,
     "Total time in seconds that processes have waited due to IO congestion.", kMicro},
    {"node_pressure_io_stalled_seconds_total", MetricKind::counter,
     "Total time in seconds no process could make progress due to IO congestion.", kMicro},
    {"node_pressure_irq_stalled_seconds_total", MetricKind::counter,
     "Total time in seconds no process could make progress due to IRQ congestion.", kMicro}};

struct Resource {
  std::string_view name;
  const Metric* some;
  const Metric* full;
};
// "full" of the CPU says nothing for the whole host.
constexpr Resource kResources[] = {{"cpu", &kMetrics[0], nullptr},
                                   {"memory", &kMetrics[1], &kMetrics[2]},
                                   {"io", &kMetrics[3], &kMetrics[4]},
                                   {"irq", nullptr, &kMetrics[5]}};

class Pressure final : public Sampling {
 public:
  explicit Pressure(const World& world) {
    for (const Resource& r : kResources)
      files_.emplace_back(world.root.proc + "/pressure/" + std::string(r.name));
  }

  Presence sample(Out& out) override {
    bool any = false;
    for (size_t i = 0; i < std::size(kResources); ++i) {
      const auto text = out.read(files_[i]);
      if (!text) continue;
      Scan lines(*text);
      std::string_view line;
      while (lines.line(line)) {
        const bool some = line.starts_with("some ");
        const Metric* metric = some                        ? kResources[i].some
                               : line.starts_with("full ") ? kResources[i].full
                                                           : nullptr;
        const size_t at = line.find("total=");
        if (metric == nullptr || at == std::string_view::npos) continue;
        int64_t total = 0;
        if (!whole_number(line.substr(at + 6), total)) {
          out.trouble(files_[i].path());
          continue;
        }
        SeriesId& id = ids_[static_cast<size_t>(metric - kMetrics)];
        if (id == kNoSeries) id = out.series(*metric);
        out.put(id, total);
        any = true;
      }
    }
    return any ? Presence::present : presence_of(files_[0].error());
  }

 private:
  std::vector<File> files_;
  SeriesId ids_[6] = {kNoSeries, kNoSeries, kNoSeries, kNoSeries, kNoSeries, kNoSeries};
};

}  // namespace

extern const Collector collector_pressure{
    .name = "pressure",
    .what = "time in which work stood still for want of CPU, memory or I/O",
    .metrics = kMetrics,
    .reads = "/proc/pressure/*",
    .needs = "a kernel with CONFIG_PSI that is switched on (boot option psi=1)",
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Pressure>(w);
    }};

}  // namespace firstwait
