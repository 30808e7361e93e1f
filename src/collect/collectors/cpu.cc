// CPU time by core and mode, switches, runnable and blocked tasks: /proc/stat.
#include "collect/collector.h"

namespace firstwait {
namespace {

constexpr int64_t kTicks = 100;  // USER_HZ, the same on every Linux

constexpr Metric kMetrics[] = {
    {"node_cpu_seconds_total", MetricKind::counter, "Seconds the CPUs spent in each mode.", kTicks},
    {"node_cpu_guest_seconds_total", MetricKind::counter,
     "Seconds the CPUs spent in guests (VMs) for each mode.", kTicks},
    {"node_context_switches_total", MetricKind::counter, "Total number of context switches."},
    {"node_forks_total", MetricKind::counter, "Total number of forks."},
    {"node_intr_total", MetricKind::counter, "Total number of interrupts serviced."},
    {"node_boot_time_seconds", MetricKind::gauge, "Node boot time, in unixtime."},
    {"node_procs_running", MetricKind::gauge, "Number of processes in runnable state."},
    {"node_procs_blocked", MetricKind::gauge,
     "Number of processes blocked waiting for I/O to complete."}};

constexpr std::string_view kModes[] = {"user",   "nice", "system",  "idle",
                                       "iowait", "irq",  "softirq", "steal"};

struct Core {
  SeriesId modes[8];
  SeriesId guests[2];
};

struct Line {
  std::string_view word;
  const Metric* metric;
};
constexpr Line kLines[] = {{"ctxt", &kMetrics[2]},          {"processes", &kMetrics[3]},
                           {"intr", &kMetrics[4]},          {"btime", &kMetrics[5]},
                           {"procs_running", &kMetrics[6]}, {"procs_blocked", &kMetrics[7]}};

class Cpu final : public Sampling {
 public:
  explicit Cpu(const World& world) : file_(world.root.proc + "/stat") {}

  Presence sample(Out& out) override {
    const auto text = out.read(file_);
    if (!text) return presence_of(file_.error());
    cores_.begin();
    Scan scan(*text);
    std::string_view line;
    while (scan.line(line)) {
      if (line.starts_with("cpu"))
        core(line, out);
      else if (!line.starts_with("softirq"))
        single(line, out);
    }
    cores_.sweep([&](const Core& c) {
      for (const SeriesId id : c.modes) out.release(id);
      for (const SeriesId id : c.guests) out.release(id);
    });
    return Presence::present;
  }

 private:
  void core(std::string_view line, Out& out) {
    Scan scan(line.substr(3));
    if (line.size() < 4 || line[3] == ' ') return;  // the sum over all
    const std::string_view number = scan.word();
    Core* c = cores_.get(number, [&](std::string_view cpu) {
      Core fresh{};
      for (size_t i = 0; i < 8; ++i)
        fresh.modes[i] = out.series(kMetrics[0], {{"cpu", cpu}, {"mode", kModes[i]}});
      for (size_t i = 0; i < 2; ++i)
        fresh.guests[i] = out.series(kMetrics[1], {{"cpu", cpu}, {"mode", kModes[i]}});
      return fresh;
    });
    if (c == nullptr) return;
    int64_t value = 0;
    for (const SeriesId id : c->modes) {
      if (!scan.number(value)) return;  // old kernels have fewer modes
      out.put(id, value);
    }
    for (const SeriesId id : c->guests) {
      if (!scan.number(value)) return;
      out.put(id, value);
    }
  }

  void single(std::string_view line, Out& out) {
    Scan scan(line);
    const std::string_view word = scan.word();
    for (size_t i = 0; i < std::size(kLines); ++i) {
      if (kLines[i].word != word) continue;
      int64_t value = 0;
      if (!scan.number(value)) return out.trouble("/proc/stat: " + std::string(word));
      if (singles_[i] == kNoSeries) singles_[i] = out.series(*kLines[i].metric);
      return out.put(singles_[i], value);
    }
  }

  File file_;
  ByPosition<Core> cores_;
  SeriesId singles_[std::size(kLines)] = {kNoSeries, kNoSeries, kNoSeries,
                                          kNoSeries, kNoSeries, kNoSeries};
};

}  // namespace

extern const Collector collector_cpu{
    .name = "cpu",
    .what = "CPU time by core and mode, context switches, runnable and blocked tasks",
    .metrics = kMetrics,
    .reads = "/proc/stat",
    .needs = "",
    .make = [](const World& w) -> std::unique_ptr<Sampling> { return std::make_unique<Cpu>(w); }};

}  // namespace firstwait
