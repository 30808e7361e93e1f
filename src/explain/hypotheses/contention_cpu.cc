#include <fmt/core.h>

#include <algorithm>

#include "explain/contention_signals.h"
#include "explain/input_signals.h"

namespace firstwait {
namespace {

// A thread that gets no CPU is late in whatever it does: launching kernels and moving bytes too.
constexpr Phase kPhasesExplained[] = {Phase::input_wait, Phase::host,     Phase::unexplained,
                                      Phase::forward,    Phase::backward, Phase::optimizer,
                                      Phase::collective};
constexpr Phase kCpuPhases[] = {Phase::input_wait, Phase::host, Phase::unexplained};
constexpr std::string_view kNeeds[] = {
    "node_cpu_seconds_total and firstwait_process_cpu_seconds_total", "neighbour_start events"};
constexpr Threshold kFull{
    "host CPUs busy", 0.9, "ratio",
    "Gregg, The USE Method: utilization near 100 % is usually a bottleneck; 10 % for sampling"};
constexpr Threshold kForeign{"CPUs of others", 0.25, "ratio",
                             "a quarter of the host: more than the job could lose to sampling"};
constexpr Threshold kQueue{
    "run-queue wait per CPU second", 1, "ratio",
    "Documentation/scheduler/sched-stats.rst: a thread that waits as long as it runs shares its "
    "CPU with another"};
constexpr Threshold kQueueing{"wait for a CPU, of the time in which one is wanted", 0.5, "ratio",
                              "the majority: without the others it would take less than half"};
constexpr Threshold kThresholds[] = {kRelevantShare, kFull, kForeign, kQueue, kQueueing};

// How long the job's threads wait for a CPU per second that they run, where that is new: others
// come before them, whatever the CPUs were busy with until then.
Reading pushed_aside(const View& view) {
  Reading worst;
  for (const auto& r : ratio(sum_by_entity(rate(view, "firstwait_process_runqueue_seconds_total")),
                             sum_by_entity(rate(view, "firstwait_process_cpu_seconds_total"))))
    if (r.has_before() && r.now >= kQueue.value && r.now >= 2 * r.before && !(worst.now >= r.now))
      worst = r;
  return worst;
}

void weigh_host(Weighing& w, const View& view, const CpuRoom& room, const Reading& pushed,
                std::string& because) {
  const double busy = room.host_busy.now / room.host_cpus;
  auto whole =
      row("host CPUs busy", "node_cpu_seconds_total", room.host, room.host_busy, "CPUs", true);
  const bool neighbour = !neighbours_at_onset(view, "cpu").empty();
  if (busy < 0.7) {
    w.contradicts(kStrong, fmt::format("{} of {:.0f} CPUs busy", percent(busy), room.host_cpus),
                  std::move(whole));
    return;
  }
  if (!known_now(room.used)) {
    // Whose CPU time it is, is not known: only a neighbour's start can tell.
    if (neighbour && busy >= kFull.value && room.host_busy.has_before() &&
        room.host_busy.before < 0.7 * room.host_cpus && own_demand_unchanged(view)) {
      w.supports(kPositive, std::move(whole)).where(room.host);
      because = fmt::format("the CPUs of {} became full when a neighbour started",
                            room.host.substr(room.host.find('/') + 1));
    }
    return;
  }
  Reading foreign;
  foreign.now = std::max(0.0, room.host_busy.now - room.used.now);
  foreign.before = room.host_busy.has_before() && room.used.has_before()
                       ? std::max(0.0, room.host_busy.before - room.used.before)
                       : kNaN;
  auto e = row("CPUs that others use", "node_cpu_seconds_total", room.host, foreign, "CPUs", true);
  if (foreign.now < kForeign.value * room.host_cpus) {
    w.contradicts(kStrong,
                  fmt::format("others use {:.1f} of {:.0f} CPUs", foreign.now, room.host_cpus),
                  std::move(e));
  } else if (busy >= kFull.value && known_now(pushed) && foreign.now > room.used.now) {
    w.supports(kStrong, row("the job waits for a CPU per second it runs",
                            "firstwait_process_runqueue_seconds_total", pushed.entity, pushed,
                            "ratio", true))
        .hints(0, std::move(e))
        .where(room.host);
    // The others' part is as it was, and the job itself has more that wants to run.
    if (const auto threads = more_threads(view);
        threads && foreign.has_before() && foreign.now < 1.5 * foreign.before)
      w.contradicts(kStrong + kWeak,
                    fmt::format("others use {:.1f} CPUs, as before, while the job's threads went "
                                "from {:.0f} to {:.0f}",
                                foreign.now, threads->before, threads->now),
                    row("threads of the job", "firstwait_process_threads", room.host, *threads,
                        "threads", false));
    because = fmt::format("other workloads use {:.1f} of the {:.0f} CPUs and come before the job",
                          foreign.now, room.host_cpus);
    w.link("Neighbours take the CPUs", room.host,
           fmt::format("the job waits {} as long as it runs", times(pushed.now)));
  } else if (foreign.has_before() && foreign.now < 1.5 * foreign.before) {
    w.contradicts(kPositive, fmt::format("others use {:.1f} CPUs, as before", foreign.now),
                  std::move(e));
  } else if (busy >= kFull.value) {
    w.supports(foreign.has_before() ? kStrong : kPositive, std::move(e)).where(room.host);
    because =
        fmt::format("other workloads use {:.1f} of the {:.0f} CPUs", foreign.now, room.host_cpus);
    w.link("Neighbours take the CPUs", room.host,
           foreign.has_before() ? fmt::format("{:.1f} → {:.1f} CPUs", foreign.before, foreign.now)
                                : fmt::format("{:.1f} CPUs", foreign.now));
  }
}

// Loader workers of the ranks that carry the wait: do they queue for a CPU, or run?
void weigh_queueing(Weighing& w, const View& view, const Stake& s) {
  const LedgerRow* wait = ledger_row(view, Phase::input_wait);
  if (s.phase != Phase::input_wait || wait == nullptr) return;
  const auto total = [&](std::string_view metric) {
    auto readings = rate(view, metric, {{"role", "loader"}});
    std::erase_if(readings, [&](const Reading& r) {
      return !wait->ranks.empty() && r.entity.starts_with("rank/") &&
             std::none_of(wait->ranks.begin(), wait->ranks.end(),
                          [&](int32_t rank) { return r.entity == fmt::format("rank/{}", rank); });
    });
    return readings.empty() ? kNaN : total_reading(readings).now;
  };
  const double queued = total("firstwait_process_runqueue_seconds_total");
  const double share = queued / (queued + total("firstwait_process_cpu_seconds_total"));
  if (!(share >= 0)) return;
  auto e = fact("workers that want a CPU wait for it", "firstwait_process_runqueue_seconds_total",
                "", share, "ratio", share >= kQueueing.value);
  if (share >= kQueueing.value)
    w.hints(kWeak, std::move(e));
  else
    w.contradicts(
        kStrong,
        fmt::format("the workers run {} of the time in which they want a CPU", percent(1 - share)),
        std::move(e));
}

Verdict test(const View& view) {
  Weighing w;
  const auto rooms = cpu_rooms(view);
  const bool seen = std::any_of(rooms.begin(), rooms.end(), [](const CpuRoom& r) {
    return known_now(r.host_busy) && r.host_cpus > 0;
  });
  if (!seen) return untested({kNeeds[0]});
  const Reading pushed = pushed_aside(view);
  // Time of the GPU's phases is laid to the CPUs only where the job is seen waiting for them.
  const Stake s = known_now(pushed) ? stake(view, kPhasesExplained) : stake(view, kCpuPhases);
  if (!w.gate(s)) return std::move(w).verdict("", {});
  weigh_blocked_workers(w, view, s);
  weigh_queueing(w, view, s);
  std::string because;
  for (const auto& room : rooms) {
    if (!known_now(room.host_busy) || !(room.host_cpus > 0) || w.decided()) continue;
    weigh_host(w, view, room, pushed, because);
  }
  for (const auto& r : sum_by_entity(rate(view, "firstwait_process_runqueue_seconds_total")))
    if (w.decided() && !known_now(pushed) && r.has_before() && r.now >= 2 * r.before &&
        r.now > 0.1) {
      w.hints(kWeak, row("the job waits for a CPU", "firstwait_process_runqueue_seconds_total",
                         r.entity, r, "s/s", true));
      break;
    }
  const auto neighbour = weigh_neighbours(w, view, "cpu");
  if (!neighbour.empty()) because = fmt::format("{} started on the host: {}", neighbour, because);
  return std::move(w).verdict(because, {kNeeds[0], kNeeds[1]});
}

}  // namespace

extern const Hypothesis hypothesis_contention_cpu{
    .id = "contention.cpu",
    .claim = "another workload takes the CPUs or their memory bandwidth",
    .decides = "CPUs of others, a neighbour's start at the onset, own demand unchanged",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 7,
    .prior = 0,
    .test = test};

}  // namespace firstwait
