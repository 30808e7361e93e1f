#include <fmt/core.h>

#include <algorithm>

#include "explain/input_signals.h"
#include "explain/workload_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::input_wait, Phase::host, Phase::collective,
                                      Phase::unexplained};
constexpr std::string_view kNeeds[] = {
    "cpu.affinity, cpu.cpuset, cpu.quota_cores or slurm.cpus_per_task",
    "cpu.count or node_cpu_seconds_total"};
constexpr Threshold kFull{
    "allowance in use", 0.9, "ratio",
    "Gregg, The USE Method: utilization near 100 % is usually a bottleneck; 10 % for sampling"};
constexpr Threshold kIdle{"host CPUs idle", 0.5, "ratio",
                          "half of the host's CPUs: the majority could serve the job"};
constexpr Threshold kThrottled{
    "throttled time", 0.05, "ratio",
    "Documentation/scheduler/sched-bwc.rst: throttled_time is time in which runnable threads "
    "were held; 5 % of it is the step share reported"};
constexpr Threshold kThresholds[] = {kRelevantShare, kFull, kIdle, kThrottled};

// A quota that holds the training thread makes all of its work take longer, wherever it is then.
constexpr Phase kHeld[] = {Phase::input_wait, Phase::h2d,  Phase::forward,    Phase::backward,
                           Phase::optimizer,  Phase::host, Phase::collective, Phase::unexplained};

// What the steps lost to it: their growth, or without a past what a held rank takes more than its
// peers. Unknown when neither can be told.
Stake held_stake(const View& view, const std::vector<Reading>& throttled) {
  Stake s;
  const auto holds = [](const Reading& r) { return r.now >= kThrottled.value; };
  if (std::none_of(throttled.begin(), throttled.end(), holds)) return s;
  s = stake(view, kHeld);
  if (s.before_s == s.before_s || s.state == Stake::State::unknown) return s;
  s.state = Stake::State::unknown;
  for (const auto& rank : view.attribution.rank_stats) {
    const Reading* r = of_entity(throttled, fmt::format("rank/{}", rank.rank));
    if (r == nullptr || !holds(*r) || !(rank.ratio_to_peers >= kSlowRatio.value)) continue;
    s.excess_s = rank.own_s * (1 - 1 / rank.ratio_to_peers);
    s.state = Stake::State::present;
  }
  return s;
}

// The training thread and its loader workers want one CPU each.
double wanted(const View& view, const CpuRoom& room) {
  const double per_rank = 1 + std::max(0.0, loader_workers(view).value_or(0));
  return room.entity.starts_with("host/")
             ? per_rank * ranks_on(view, room.entity)
             : per_rank * std::max(1.0, static_cast<double>(room.ranks.size()));
}

void weigh_room(Weighing& w, const View& view, const CpuRoom& room, std::string& because) {
  const double want = wanted(view, room);
  const double host_idle = known_now(room.host_busy) && room.host_cpus > 0
                               ? 1 - room.host_busy.now / room.host_cpus
                               : kNaN;
  const auto cpus = fact("CPUs allowed", room.limit, room.entity, room.allowed, "CPUs", true);
  const bool full = known_now(room.used) && room.used.now >= kFull.value * room.allowed;
  const bool slack = known_now(room.used) && room.used.now < 0.7 * room.allowed;
  if (slack) {
    w.contradicts(kStrong,
                  fmt::format("{:.2g} of {:.3g} allowed CPUs in use", room.used.now, room.allowed),
                  cpus);
    return;
  }
  if (!full && room.allowed >= want) {
    w.contradicts(
        kPositive,
        fmt::format("{:.3g} CPUs allowed for {:.0f} threads that want one", room.allowed, want),
        cpus);
    return;
  }
  // The fewer CPUs for those that want one, the surer; a full allowance is measured, a small one
  // only computed.
  const double shortage = want / room.allowed;
  w.supports(full ? kStrong : shortage >= 2 ? 3.0 : 1.5, cpus);
  if (host_idle >= kIdle.value)
    w.hints(kPositive, fact("the host's CPUs idle", "node_cpu_seconds_total", room.host, host_idle,
                            "ratio", true));
  else if (host_idle < 0.1)
    w.contradicts(kStrong,
                  fmt::format("the host is full as well: {} of {:.0f} CPUs busy",
                              percent(1 - host_idle), room.host_cpus),
                  fact("the host's CPUs busy", "node_cpu_seconds_total", room.host, 1 - host_idle,
                       "ratio", false));
  because = room.host_cpus > 0
                ? fmt::format("{} = {} confines {} to {:.3g} of {:.0f} CPUs", room.limit,
                              room.limit_value, room.entity, room.allowed, room.host_cpus)
                : fmt::format("{} = {} confines {} to {:.3g} CPUs for {:.0f} threads", room.limit,
                              room.limit_value, room.entity, room.allowed, want);
  w.link("CPUs confined", room.entity,
         fmt::format("{:.3g} of {:.0f} CPUs", room.allowed,
                     room.host_cpus > 0 ? room.host_cpus : want));
}

Verdict test(const View& view) {
  Weighing w;
  // Idle GPUs are a stake of their own when no phases were recorded.
  const Stake input = stake(view, {Phase::input_wait}), any = stake(view, kPhasesExplained);
  const auto throttled = rate(view, "firstwait_cgroup_cpu_throttled_seconds_total");
  const Stake of_held = held_stake(view, throttled);
  const bool held = of_held.state == Stake::State::present;
  // Where neither is at stake, the input wait is what the reader asks about.
  const bool other = input.state != Stake::State::present && any.state == Stake::State::present;
  const Stake asked = held ? of_held : other ? any : input;
  if (!w.gate(asked)) return std::move(w).verdict("", {});
  if (!held) weigh_blocked_workers(w, view, asked);
  std::string because;
  double all_allowed = kNaN;
  bool seen = false;
  for (const auto& room : cpu_rooms(view)) {
    if (!room.confined()) {
      all_allowed = room.allowed;
      continue;
    }
    w.where(room.entity).where(room.host);
    if (seen) continue;  // ranks of one job are confined alike: one is enough to say so
    seen = true;
    weigh_room(w, view, room, because);
  }
  for (const auto& r : throttled) {
    if (r.now >= kThrottled.value) {
      w.supports(kStrong,
                 row("held by the CPU quota", "firstwait_cgroup_cpu_throttled_seconds_total",
                     r.entity, r, "s/s", true));
      if (because.empty())
        because = fmt::format("the CPU quota holds its threads {:.2g} s in each second", r.now);
      w.where(r.entity);
      if (r.has_before() && r.before >= 0.5 * r.now && asked.before_s == asked.before_s)
        w.contradicts(kPositive, fmt::format("throttled as much before: {:.2g} s/s", r.before),
                      row("held before as well", "firstwait_cgroup_cpu_throttled_seconds_total",
                          r.entity, r, "s/s", false));
    } else if (!w.decided()) {
      w.contradicts(kPositive, fmt::format("throttled {} of the time", percent(r.now)),
                    row("held by the CPU quota", "firstwait_cgroup_cpu_throttled_seconds_total",
                        r.entity, r, "s/s", false));
    }
  }
  if (!seen && !w.decided() && all_allowed > 0)
    w.contradicts(kStrong, fmt::format("all {:.0f} CPUs of the host are allowed", all_allowed),
                  fact("CPUs allowed", "cpu.affinity", "", all_allowed, "CPUs", false));
  if (w.decided() && seen && asked.before_s == asked.before_s) {
    bool changed = false;
    for (const auto& c : setting_changes(view, "cpu."))
      changed = changed || at_onset(view, c.to->time);
    if (changed)
      w.hints(kPositive,
              fact("the allowance changed at the onset", "cpu.affinity", "", kNaN, "", true));
    else
      w.contradicts(kPositive, "the allowance was the same before the onset",
                    fact("the allowance did not change", "cpu.affinity", "", kNaN, "", false));
  }
  return std::move(w).verdict(because,
                              {"cpu.affinity, cpu.cpuset or cpu.quota_cores", "cpu.count"});
}

}  // namespace

extern const Hypothesis hypothesis_input_cpu_entitlement{
    .id = "input.cpu_entitlement",
    .claim = "affinity, cpuset or quota confines the job while the host idles",
    .decides =
        "mask or quota against the threads that want a CPU and the host's idle CPUs; throttled "
        "periods",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 5,
    .prior = 0,
    .test = test};

}  // namespace firstwait
