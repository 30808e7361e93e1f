// Packets that a core took from the cards, dropped, or left for later: /proc/net/softnet_stat.
#include "collect/collector.h"

namespace firstwait {
namespace {

constexpr Metric kMetrics[] = {
    {"node_softnet_processed_total", MetricKind::counter, "Number of processed packets"},
    {"node_softnet_dropped_total", MetricKind::counter, "Number of dropped packets"},
    {"node_softnet_times_squeezed_total", MetricKind::counter,
     "Number of times processing packets ran out of quota"}};

class Softnet final : public Sampling {
 public:
  explicit Softnet(const World& world) : file_(world.root.proc + "/net/softnet_stat") {}

  Presence sample(Out& out) override {
    const auto text = out.read(file_);
    if (!text) return presence_of(file_.error());
    cores_.begin();
    Scan lines(*text);
    std::string_view line;
    for (int64_t row = 0; lines.line(line); ++row) {
      Scan scan(line);
      int64_t values[3], cpu = row;
      bool good = true;
      for (int64_t& v : values) good = good && hex_number(scan.word(), v);
      if (!good) {
        out.trouble("/proc/net/softnet_stat: row " + std::to_string(row));
        continue;
      }
      // The 13th column says which core it is: offline ones have no row.
      if (scan.skip(9))
        if (const auto word = scan.word(); !word.empty()) hex_number(word, cpu);
      char name[24];
      const size_t n = static_cast<size_t>(
          std::snprintf(name, sizeof name, "%lld", static_cast<long long>(cpu)));
      cores_.put(out, {name, n}, values);
    }
    cores_.end(out);
    return Presence::present;
  }

 private:
  File file_;
  KeyedSeries<3> cores_{kMetrics, "cpu"};
};

}  // namespace

extern const Collector collector_softnet{
    .name = "softnet",
    .what = "packets that each core took from the cards, dropped, or left for later",
    .metrics = kMetrics,
    .reads = "/proc/net/softnet_stat",
    .needs = "",
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Softnet>(w);
    }};

}  // namespace firstwait
