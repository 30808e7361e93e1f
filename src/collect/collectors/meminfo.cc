// Memory of the host: /proc/meminfo.
#include "collect/collector.h"

namespace firstwait {
namespace {

constexpr Metric kMetrics[] = {
    {"node_memory_*_bytes", MetricKind::gauge, "Memory information field *_bytes."},
    {"node_memory_*", MetricKind::gauge,
     "Memory information field *."}};  // fields without a unit: counts

// "Active(anon)" is "Active_anon", as node_exporter has it.
std::string field_name(std::string_view field) {
  std::string out;
  for (const char c : field) {
    if (c == '(')
      out += '_';
    else if (c != ')')
      out += c;
  }
  return out;
}

struct Field {
  SeriesId id = kNoSeries;
  bool kib = false;
};

class Meminfo final : public Sampling {
 public:
  explicit Meminfo(const World& world) : file_(world.root.proc + "/meminfo") {}

  Presence sample(Out& out) override {
    const auto text = out.read(file_);
    if (!text) return presence_of(file_.error());
    fields_.begin();
    Scan lines(*text);
    std::string_view line;
    while (lines.line(line)) {
      Scan scan(line);
      const std::string_view name = scan.until(':');
      int64_t value = 0;
      if (name.empty() || !scan.number(value) || value > INT64_MAX / 1024) {
        out.trouble("/proc/meminfo: " + std::string(name.substr(0, 40)));
        continue;
      }
      const bool kib = scan.word() == "kB";
      Field* f = fields_.get(name, [&](std::string_view n) {
        return Field{out.series(kMetrics[kib ? 0 : 1], {}, field_name(n)), kib};
      });
      if (f != nullptr) out.put(f->id, f->kib ? value * 1024 : value);
    }
    fields_.sweep([&](const Field& f) { out.release(f.id); });
    return Presence::present;
  }

 private:
  File file_;
  ByPosition<Field> fields_;
};

}  // namespace

extern const Collector collector_meminfo{
    .name = "meminfo",
    .what = "memory of the host: total, available, caches, dirty, swap",
    .metrics = kMetrics,
    .reads = "/proc/meminfo",
    .needs = "",
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Meminfo>(w);
    }};

}  // namespace firstwait
