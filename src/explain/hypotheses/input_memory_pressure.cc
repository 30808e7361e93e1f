#include <fmt/core.h>

#include "explain/input_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::input_wait, Phase::host, Phase::unexplained};
constexpr std::string_view kNeeds[] = {"node_pressure_memory_waiting_seconds_total",
                                       "node_vmstat_pswpin", "node_vmstat_pgmajfault"};
constexpr Threshold kPressure{
    "memory pressure", 0.15, "ratio",
    "Documentation/accounting/psi.rst: its example trigger is 150 ms of stall in 1 s"};
constexpr Threshold kSwap{
    "swapped-in pages", 10, "1/s",
    "vmstat(8): si should be 0 on a healthy machine; 10 pages a second exclude leftovers"};
constexpr Threshold kFull{
    "memory in use against the limit", 0.9, "ratio",
    "Gregg, The USE Method: utilization near 100 % is usually a bottleneck; 10 % for sampling"};
constexpr Threshold kThresholds[] = {kRelevantShare, kPressure, kSwap, kFull};

// A limit that came or shrank when the steps grew, that is full, and pages that are read again:
// what it cannot hold.
void weigh_limit(Weighing& w, const View& view, std::string& because) {
  if (view.attribution.baseline.empty) return;
  const auto usage = sum_by_entity(gauge(view, "firstwait_cgroup_memory_usage_bytes"));
  const auto faults = sum_by_entity(rate(view, "firstwait_process_major_faults_total"));
  for (const auto& limit : gauge(view, "firstwait_cgroup_memory_limit_bytes")) {
    const bool came = !limit.has_before() || limit.now < kFull.value * limit.before;
    const Reading* used = of_entity(usage, limit.entity);
    const Reading* again = of_entity(faults, limit.entity);
    if (!came || used == nullptr || used->now < kFull.value * limit.now || again == nullptr ||
        !again->has_before() || again->now < kSwap.value || again->now < 2 * again->before)
      continue;
    w.where(limit.entity);
    if (w.decided()) continue;
    w.supports(kStrong, row("memory in use, at its limit", "firstwait_cgroup_memory_usage_bytes",
                            limit.entity, *used, "bytes", true));
    w.hints(kPositive, row("pages read again", "firstwait_process_major_faults_total", limit.entity,
                           *again, "1/s", true));
    because =
        fmt::format("a memory limit of {} on {} is full, and {} pages a second are read again",
                    bytes(limit.now), limit.entity, three_digits(again->now));
    w.link("Memory at its limit", limit.entity, bytes(limit.now));
  }
}

Verdict test(const View& view) {
  Weighing w;
  if (!w.gate(stake(view, kPhasesExplained))) return std::move(w).verdict("", {});
  std::string because;
  weigh_limit(w, view, because);
  double most_pressure = -1, most_swap = -1;
  for (const auto& r : rate(view, "node_pressure_memory_waiting_seconds_total")) {
    most_pressure = std::max(most_pressure, r.now);
    if (r.now < kPressure.value) continue;
    const bool before = r.has_before() && r.before >= 0.5 * r.now;
    w.supports(before ? kWeak : kStrong,
               row("tasks wait for memory", "node_pressure_memory_waiting_seconds_total", r.entity,
                   r, "ratio", true));
    if (because.empty())
      because = fmt::format("tasks on {} wait for memory {} of the time",
                            r.entity.substr(r.entity.find('/') + 1), percent(r.now));
    w.where(r.entity).link("Tasks wait for memory", r.entity, percent(r.now));
    break;
  }
  for (const auto& r : rate(view, "node_vmstat_pswpin")) {
    most_swap = std::max(most_swap, r.now);
    if (r.now < kSwap.value) continue;
    const bool before = r.has_before() && r.before >= 0.5 * r.now;
    w.supports(before ? kWeak : kPositive,
               row("pages swapped in", "node_vmstat_pswpin", r.entity, r, "1/s", true));
    if (because.empty())
      because = fmt::format("the host swaps in {} pages a second", three_digits(r.now));
    w.where(r.entity);
    break;
  }
  // Major faults without pressure or swap are reads of mapped files: storage, not memory.
  for (const auto& r : rate(view, "node_vmstat_pgmajfault"))
    if (w.decided() && r.has_before() && r.now >= 2 * r.before && r.now >= kSwap.value) {
      w.hints(kWeak, row("major faults", "node_vmstat_pgmajfault", r.entity, r, "1/s", true));
      break;
    }
  if (!w.decided()) {
    if (most_pressure >= 0)
      w.contradicts(kStrong,
                    fmt::format("tasks wait for memory {} of the time", percent(most_pressure)),
                    fact("tasks wait for memory", "node_pressure_memory_waiting_seconds_total", "",
                         most_pressure, "ratio", false));
    if (most_swap >= 0)
      w.contradicts(kPositive, fmt::format("{} pages a second swapped in", three_digits(most_swap)),
                    fact("pages swapped in", "node_vmstat_pswpin", "", most_swap, "1/s", false));
  }
  return std::move(w).verdict(because,
                              {"node_pressure_memory_waiting_seconds_total", "node_vmstat_pswpin"});
}

}  // namespace

extern const Hypothesis hypothesis_input_memory_pressure{
    .id = "input.memory_pressure",
    .claim = "reclaim, swap or major faults starve the input",
    .decides = "memory pressure, swap and major-fault rates",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 5,
    .prior = 0,
    .test = test};

}  // namespace firstwait
