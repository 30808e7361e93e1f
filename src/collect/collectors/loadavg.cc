// Load averages: /proc/loadavg.
#include "collect/collector.h"

namespace firstwait {
namespace {

constexpr int64_t kHundredth = 100;
constexpr Metric kMetrics[] = {{"node_load1", MetricKind::gauge, "1m load average.", kHundredth},
                               {"node_load5", MetricKind::gauge, "5m load average.", kHundredth},
                               {"node_load15", MetricKind::gauge, "15m load average.", kHundredth}};

class Loadavg final : public Sampling {
 public:
  explicit Loadavg(const World& world) : file_(world.root.proc + "/loadavg") {}

  Presence sample(Out& out) override {
    const auto text = out.read(file_);
    if (!text) return presence_of(file_.error());
    Scan scan(*text);
    for (size_t i = 0; i < 3; ++i) {
      int64_t value = 0;
      if (!scaled_number(scan.word(), kHundredth, value)) {
        out.trouble("/proc/loadavg: field " + std::to_string(i + 1));
        return Presence::broken;
      }
      if (ids_[i] == kNoSeries) ids_[i] = out.series(kMetrics[i]);
      out.put(ids_[i], value);
    }
    return Presence::present;
  }

 private:
  File file_;
  SeriesId ids_[3] = {kNoSeries, kNoSeries, kNoSeries};
};

}  // namespace

extern const Collector collector_loadavg{.name = "loadavg",
                                         .what = "load averages",
                                         .metrics = kMetrics,
                                         .reads = "/proc/loadavg",
                                         .needs = "",
                                         .make = [](const World& w) -> std::unique_ptr<Sampling> {
                                           return std::make_unique<Loadavg>(w);
                                         }};

}  // namespace firstwait
