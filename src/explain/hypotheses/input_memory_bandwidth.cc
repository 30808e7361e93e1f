#include <fmt/core.h>

#include "explain/input_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::input_wait};
constexpr std::string_view kNeeds[] = {
    "resctrl or uncore memory-bandwidth counters",
    "node_memory_numa_other_node_total and node_memory_numa_local_node_total"};
constexpr Threshold kRemote{"allocations on a remote node", 0.5, "ratio",
                            "Documentation/admin-guide/numastat.rst: other_node counts pages a "
                            "process got from a node that "
                            "is not its own; the majority"};
constexpr Threshold kFull{"memory bandwidth in use", 0.8, "ratio",
                          "Intel, Memory Performance in a Nutshell: loaded latency climbs steeply "
                          "from about 80 % of the peak"};
constexpr Threshold kThresholds[] = {kRelevantShare, kRemote, kFull};

Verdict test(const View& view) {
  Weighing w;
  const auto used = sum_by_entity(rate(view, "firstwait_memory_bytes_total"));
  const auto limit = setting_number(view, "memory.bandwidth_bytes_per_second");
  const auto other = sum_by_entity(rate(view, "node_memory_numa_other_node_total"));
  const auto local = sum_by_entity(rate(view, "node_memory_numa_local_node_total"));
  if (used.empty() && other.empty())
    return untested(
        {"resctrl or uncore memory-bandwidth counters", "node_memory_numa_other_node_total"});
  if (!w.gate(stake(view, kPhasesExplained))) return std::move(w).verdict("", {});
  std::string because;
  for (const auto& r : used) {
    if (!limit || !(*limit > 0)) break;
    const double share = r.now / *limit;
    auto e = row("memory bandwidth", "firstwait_memory_bytes_total", r.entity, r, "bytes/s",
                 share >= kFull.value);
    if (share >= kFull.value) {
      w.supports(kStrong, std::move(e)).where(r.entity);
      because = fmt::format("memory of {} is at {} of its bandwidth", r.entity, percent(share));
    } else {
      w.contradicts(kStrong, fmt::format("memory at {} of its bandwidth", percent(share)),
                    std::move(e));
    }
  }
  for (const auto& o : other) {
    const auto* l = of_entity(local, o.entity);
    if (l == nullptr || !(o.now + l->now > 0)) continue;
    const double remote = o.now / (o.now + l->now);
    auto e = fact("pages from a remote NUMA node", "node_memory_numa_other_node_total", o.entity,
                  remote, "ratio", remote >= kRemote.value);
    if (remote >= kRemote.value) {
      // Placement only: how much it costs is not measured.
      w.supports(1.5, std::move(e)).where(o.entity);
      if (because.empty())
        because = fmt::format("{} of new pages on {} come from a remote NUMA node", percent(remote),
                              o.entity);
    } else {
      w.contradicts(kWeak, fmt::format("{} of new pages are remote", percent(remote)),
                    std::move(e));
    }
    break;
  }
  return std::move(w).verdict(because, {"resctrl or uncore memory-bandwidth counters"});
}

}  // namespace

extern const Hypothesis hypothesis_input_memory_bandwidth{
    .id = "input.memory_bandwidth",
    .claim = "host memory bandwidth or a remote NUMA node limits preparation",
    .decides = "resctrl or uncore counters, NUMA placement",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 5,
    .prior = 0,
    .test = test};

}  // namespace firstwait
