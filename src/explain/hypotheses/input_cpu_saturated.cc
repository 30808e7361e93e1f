#include <fmt/core.h>

#include "explain/gpu_facts.h"
#include "explain/input_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::input_wait};
constexpr std::string_view kNeeds[] = {"node_cpu_seconds_total",
                                       "firstwait_process_cpu_seconds_total",
                                       "cpu.affinity, cpu.quota_cores or cpu.count"};
constexpr Threshold kFull{
    "allowance in use", 0.9, "ratio",
    "Gregg, The USE Method: utilization near 100 % is usually a bottleneck; 10 % for sampling"};
constexpr Threshold kRoom{
    "allowance unused", 0.7, "ratio",
    "M/M/1 queue: response time is service time / (1 - utilization), 3.3 times at 70 %"};
constexpr Threshold kThresholds[] = {kRelevantShare, kFull, kRoom, kUnderLoad};

// What the job uses of its allowance; of the whole host when only that is known.
Reading usage(const CpuRoom& room, bool* own) {
  Reading r = room.used;
  *own = known_now(r);
  if (!*own) r = room.host_busy;
  r.before /= room.allowed;
  r.now /= room.allowed;
  return r;
}

// A full CPU that makes nobody wait is a CPU well used. Where no phase shows a wait, idle GPUs may.
void weigh_victim(Weighing& w, const View& view, const Stake& s) {
  if (s.state != Stake::State::unknown || !w.decided()) return;
  double busy = 0, known = 0;
  for (const Gpu& g : gpus(view))
    if (known_now(g.utilization)) busy += g.utilization.now, ++known;
  if (known == 0) {
    w.hints(-kPositive, fact("whether anything waits for the CPU is not known",
                             "DCGM_FI_DEV_GPU_UTIL", "", kNaN, "", true));
    return;
  }
  busy /= known;
  EvidenceRow row = fact("GPUs in use", "DCGM_FI_DEV_GPU_UTIL", "", busy, "ratio", true);
  if (1 - busy < kRelevantShare.value) {
    w.contradicts(kStrong, fmt::format("the GPUs are in use {} of the time", percent(busy)),
                  std::move(row));
  } else {
    w.hints(busy < kUnderLoad.value ? kWeak : -kPositive, std::move(row));
  }
}

Verdict test(const View& view) {
  Weighing w;
  const Stake s = stake(view, kPhasesExplained);
  if (!w.gate(s)) return std::move(w).verdict("", {});
  std::string because;
  double largest = -1;
  EvidenceRow idle;
  std::string idle_reason;
  for (const auto& room : cpu_rooms(view)) {
    bool own = false;
    const Reading u = usage(room, &own);
    if (!known_now(u) || (!own && room.confined())) continue;
    if (u.now < kFull.value) {
      if (u.now > largest) {
        largest = u.now;
        idle =
            row("CPU allowance in use", "node_cpu_seconds_total", room.entity, u, "ratio", false);
        idle_reason = fmt::format("{} of {:.3g} allowed CPUs in use", percent(u.now), room.allowed);
      }
      continue;
    }
    if (room.confined() && known_now(room.host_busy) &&
        room.host_busy.now < kRoom.value * room.host_cpus) {
      w.contradicts(kPositive,
                    fmt::format("{} confines the job to {:.3g} of {:.0f} CPUs", room.limit,
                                room.allowed, room.host_cpus),
                    fact("CPUs allowed", room.limit, room.entity, room.allowed, "CPUs", false));
    }
    if (!w.decided()) {
      w.supports(kStrong,
                 row("CPU allowance in use",
                     own ? "firstwait_process_cpu_seconds_total" : "node_cpu_seconds_total",
                     room.entity, u, "ratio", true));
      because =
          fmt::format("preprocessing uses {} of {:.3g} allowed CPUs", percent(u.now), room.allowed);
      w.link("Allowed CPUs full", room.entity,
             u.has_before() ? percent(u.before) + " → " + percent(u.now) : percent(u.now));
      // Full before and full now: the CPU was not what changed.
      if (u.has_before() && u.before >= kFull.value)
        w.contradicts(
            kPositive, fmt::format("the allowance was as full before: {}", percent(u.before)),
            row("full before as well", "node_cpu_seconds_total", room.entity, u, "ratio", false));
      if (known_now(room.waiting) && room.waiting.now > 0.1)
        w.hints(kWeak, row("tasks wait for a CPU", "node_pressure_cpu_waiting_seconds_total",
                           room.host, room.waiting, "ratio", true));
      // Without knowing whose CPU time it is, another job may burn it.
      if (!own)
        w.hints(-kWeak, fact("whose CPU time is not known", "firstwait_process_cpu_seconds_total",
                             room.host, kNaN, "", true));
    }
    w.where(room.entity);
  }
  if (!w.decided() && largest >= 0)
    w.contradicts(largest < kRoom.value ? kStrong : kWeak, idle_reason, idle);
  const auto loader = loader_facts(view);
  if (loader.preparing_share > 0.5)
    w.hints(kWeak, fact("workers decode and transform", "loader", "", loader.preparing_share,
                        "ratio", true));
  weigh_blocked_workers(w, view, s);
  weigh_victim(w, view, s);
  return std::move(w).verdict(because,
                              {"node_cpu_seconds_total or firstwait_process_cpu_seconds_total"});
}

}  // namespace

extern const Hypothesis hypothesis_input_cpu_saturated{
    .id = "input.cpu_saturated",
    .claim = "preprocessing uses all allowed CPU",
    .decides = "CPU allowance near 100 %, decode and transform dominate, run-queue wait",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 5,
    .prior = 0,
    .test = test};

}  // namespace firstwait
