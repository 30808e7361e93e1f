// Paging, swapping, faults and kills of the host: /proc/vmstat.
#include "collect/collector.h"

namespace firstwait {
namespace {

constexpr Metric kMetrics[] = {
    {"node_vmstat_*", MetricKind::untyped, "/proc/vmstat information field *."}};

// The fields that node_exporter exports by default.
bool wanted(std::string_view name) {
  return name.starts_with("oom_kill") || name.starts_with("pgpg") || name.starts_with("pswp") ||
         (name.starts_with("pg") && name.find("fault", 2) != std::string_view::npos);
}

class Vmstat final : public Sampling {
 public:
  explicit Vmstat(const World& world) : file_(world.root.proc + "/vmstat") {}

  Presence sample(Out& out) override {
    const auto text = out.read(file_);
    if (!text) return presence_of(file_.error());
    fields_.begin();
    Scan lines(*text);
    std::string_view line;
    while (lines.line(line)) {
      if (line.empty() || (line[0] != 'p' && line[0] != 'o')) continue;
      Scan scan(line);
      const std::string_view name = scan.word();
      if (!wanted(name)) continue;
      int64_t value = 0;
      if (!scan.number(value)) {
        out.trouble("/proc/vmstat: " + std::string(name.substr(0, 40)));
        continue;
      }
      if (SeriesId* id =
              fields_.get(name, [&](std::string_view n) { return out.series(kMetrics[0], {}, n); }))
        out.put(*id, value);
    }
    fields_.sweep([&](SeriesId id) { out.release(id); });
    return Presence::present;
  }

 private:
  File file_;
  ByPosition<SeriesId> fields_;
};

}  // namespace

extern const Collector collector_vmstat{
    .name = "vmstat",
    .what = "paging, swapping, page faults, kills for want of memory",
    .metrics = kMetrics,
    .reads = "/proc/vmstat",
    .needs = "",
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Vmstat>(w);
    }};

}  // namespace firstwait
