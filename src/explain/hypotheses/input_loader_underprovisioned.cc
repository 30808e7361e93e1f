#include <fmt/core.h>

#include <algorithm>

#include "explain/input_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::input_wait};
constexpr std::string_view kNeeds[] = {
    "loader times per step", "firstwait_process_cpu_seconds_total{role=loader}",
    "loader.num_workers", "cpu.count and node_cpu_seconds_total"};
constexpr Threshold kBusy{
    "workers busy", 0.9, "ratio",
    "Gregg, The USE Method: utilization near 100 % is usually a bottleneck; 10 % for sampling"};
constexpr Threshold kThresholds[] = {kRelevantShare, kBusy};

// CPU that a loader worker burns, in cores; NaN unknown.
double worker_cpu(const View& view, double workers) {
  const auto cpu = rate(view, "firstwait_process_cpu_seconds_total", {{"role", "loader"}});
  if (cpu.empty() || !(workers > 0)) return kNaN;
  const auto ranks = std::max<size_t>(view.evidence.ranks.size(), 1);
  return total_reading(cpu).now / (workers * static_cast<double>(ranks));
}

void weigh_idle_cores(Weighing& w, const View& view, double workers) {
  const auto rooms = cpu_rooms(view);
  for (const auto& room : rooms) {
    const double ranks = room.entity.starts_with("host/") ? ranks_on(view, room.entity) : 1;
    if (!room.confined() || room.allowed >= ranks * (workers + 1)) continue;
    w.contradicts(kStrong,
                  fmt::format("{:.3g} allowed CPUs cannot run more workers ({} = {})", room.allowed,
                              room.limit, room.limit_value),
                  fact("CPUs allowed", room.limit, room.entity, room.allowed, "CPUs", false));
    return;
  }
  for (const auto& room : rooms) {
    // What others use of a host that the job may use whole is not idle either.
    const bool whole = !room.confined() && known_now(room.host_busy);
    const Reading& used = known_now(room.used) && !whole ? room.used : room.host_busy;
    if (!known_now(used)) continue;
    // One more worker wants a CPU; it is there also when sampling makes it a little less.
    if (room.allowed - used.now >= kBusy.value && used.now < kBusy.value * room.allowed) {
      w.hints(kWeak, fact("allowed CPUs idle", "node_cpu_seconds_total", room.entity,
                          room.allowed - used.now, "CPUs", true));
    } else {
      w.contradicts(
          kStrong,
          fmt::format("no CPU is free: {:.1f} of {:.0f} allowed in use", used.now, room.allowed),
          fact("CPUs in use", "node_cpu_seconds_total", room.entity, used.now, "CPUs", false));
    }
    return;
  }
}

void weigh_settings(Weighing& w, const View& view, double workers) {
  double spare = kNaN;
  for (const auto& room : cpu_rooms(view)) {
    const double ranks = room.entity.starts_with("host/") ? ranks_on(view, room.entity) : 1;
    const double left = room.allowed / ranks - 1 - workers;  // one core for the training thread
    if (!(spare <= left)) spare = left;
  }
  if (spare >= workers && workers > 0)
    w.supports(kWeak,
               fact(fmt::format("{:.0f} loader workers where {:.0f} more would have a core each",
                                workers, std::min(spare, 1e6)),
                    "loader.num_workers", "", workers, "workers", true));
}

Verdict test(const View& view) {
  Weighing w;
  const auto workers = loader_workers(view);
  if (workers && *workers <= 0) {
    w.contradicts(kStrong, "loader.num_workers is 0: there is no worker to be short of",
                  fact("no workers", "loader.num_workers", "", 0, "workers", false));
    return std::move(w).verdict("", {});
  }
  const Stake s = stake(view, kPhasesExplained);
  if (!w.gate(s)) return std::move(w).verdict("", {});
  const auto loader = loader_facts(view);
  const double n = workers.value_or(kNaN);
  const double cpu = worker_cpu(view, n);
  const double busy = loader.busy == loader.busy ? loader.busy : cpu;
  const bool reads = loader.reading_share > 0.5;
  if (reads)
    w.contradicts(
        kVeryStrong,
        fmt::format("{} of the workers' time is reading", percent(loader.reading_share)),
        fact("workers wait for reads", "loader.fetch", "", loader.reading_share, "ratio", false));
  if (!reads && busy >= kBusy.value) {
    w.supports(kStrong, fact("loader workers busy", "loader", "", busy, "ratio", true));
    w.link("Loader workers never idle", fmt::format("{:.0f} workers", n), percent(busy));
  } else if (busy < kBusy.value) {
    w.contradicts(kStrong, fmt::format("workers compute {}, not ≈ 100 %", percent(busy)),
                  fact("loader workers busy", "loader", "", busy, "ratio", false));
  } else if (n > 0 && !reads && s.before_s != s.before_s) {
    // Settings explain a chronic wait; one that began later needs more.
    weigh_settings(w, view, n);
  }
  if (loader.queued >= 1)
    w.contradicts(kPositive,
                  fmt::format("{:.1f} batches wait in the loader's queue", loader.queued),
                  fact("batches queued", "loader.queued", "", loader.queued, "batches", false));
  weigh_idle_cores(w, view, n > 0 ? n : 1);
  return std::move(w).verdict(
      n > 0 ? fmt::format("{:.0f} loader workers per rank are too few while allowed CPUs idle", n)
            : "the loader workers are too few while allowed CPUs idle",
      {"loader times per step", "firstwait_process_cpu_seconds_total{role=loader}"});
}

}  // namespace

extern const Hypothesis hypothesis_input_loader_underprovisioned{
    .id = "input.loader_underprovisioned",
    .claim = "too few loader workers while allowed cores idle",
    .decides = "workers busy near 100 %, CPU allowance unused, fetch and latency normal",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 5,
    .prior = 0,
    .test = test};

}  // namespace firstwait
