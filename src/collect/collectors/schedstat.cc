// Time that tasks ran and waited for a core: /proc/schedstat.
#include "collect/collector.h"

namespace firstwait {
namespace {

constexpr int64_t kNano = 1'000'000'000;
constexpr Metric kMetrics[] = {
    {"node_schedstat_running_seconds_total", MetricKind::counter,
     "Number of seconds CPU spent running a process.", kNano},
    {"node_schedstat_waiting_seconds_total", MetricKind::counter,
     "Number of seconds spent by processing waiting for this CPU.", kNano},
    {"node_schedstat_timeslices_total", MetricKind::counter,
     "Number of timeslices executed by CPU."}};

class Schedstat final : public Sampling {
 public:
  explicit Schedstat(const World& world) : file_(world.root.proc + "/schedstat") {}

  Presence sample(Out& out) override {
    const auto text = out.read(file_);
    if (!text) return presence_of(file_.error());
    cores_.begin();
    Scan lines(*text);
    std::string_view line;
    while (lines.line(line)) {
      if (!line.starts_with("cpu")) continue;  // domains, version
      Scan scan(line.substr(3));
      const std::string_view cpu = scan.word();
      int64_t values[3];
      // Six numbers about the scheduler's own work stand before.
      if (!scan.skip(6) || !scan.number(values[0]) || !scan.number(values[1]) ||
          !scan.number(values[2])) {
        out.trouble("/proc/schedstat: cpu" + std::string(cpu.substr(0, 20)));
        continue;
      }
      cores_.put(out, cpu, values);
    }
    cores_.end(out);
    return Presence::present;
  }

 private:
  File file_;
  KeyedSeries<3> cores_{kMetrics, "cpu"};
};

}  // namespace

extern const Collector collector_schedstat{
    .name = "schedstat",
    .what = "time that tasks ran on each core and waited for it",
    .metrics = kMetrics,
    .reads = "/proc/schedstat",
    .needs = "a kernel with CONFIG_SCHEDSTATS or CONFIG_SCHED_INFO",
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Schedstat>(w);
    }};

}  // namespace firstwait
