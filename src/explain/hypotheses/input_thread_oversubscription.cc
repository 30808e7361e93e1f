#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "explain/input_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::input_wait, Phase::host, Phase::forward,
                                      Phase::backward, Phase::unexplained};
constexpr std::string_view kNeeds[] = {"firstwait_process_threads",
                                       "firstwait_process_runqueue_seconds_total",
                                       "env.OMP_NUM_THREADS", "cpu.count"};
constexpr Threshold kQueue{
    "run-queue wait per CPU second", 1, "ratio",
    "Documentation/scheduler/sched-stats.rst: a thread that waits as long as it runs shares its "
    "CPU with another"};
constexpr Threshold kThreads{
    "threads per allowed CPU", 2, "ratio",
    "torchrun sets OMP_NUM_THREADS=1 per process \"to avoid your system being overloaded\"; two "
    "runnable threads per CPU halve each"};
constexpr Threshold kThresholds[] = {kRelevantShare, kQueue, kThreads};

// Compute threads that the settings ask for on one host, against its CPUs; 0 when unknown.
double planned_threads(const View& view, const CpuRoom& room, std::string* how,
                       double* per_process) {
  const double per_rank = 1 + std::max(0.0, loader_workers(view).value_or(0));
  const double ranks = room.entity.starts_with("host/") ? ranks_on(view, room.entity) : 1;
  for (const auto key : {"env.OMP_NUM_THREADS", "env.MKL_NUM_THREADS"}) {
    const auto text = setting(view, key);
    if (!text) continue;
    const auto n = parse_double(*text);
    // Unset means one thread per CPU in every process (OpenMP's default).
    const double threads = n && *n > 0 ? *n : room.host_cpus;
    if (!(threads > 0)) continue;
    *how = n && *n > 0 ? fmt::format("{} = {}", key, *text) : fmt::format("{} is not set", key);
    *per_process = threads;
    return threads * ranks * per_rank;
  }
  return 0;
}

// Threads of the job that wait for a CPU wait for each other only while the job has most of them.
void weigh_others(Weighing& w, const View& view) {
  for (const auto& room : cpu_rooms(view)) {
    if (!known_now(room.used) || !known_now(room.host_busy) || room.confined()) continue;
    double used = 0, used_before = kNaN;  // of the whole host: a rank's own room holds a part of it
    for (const auto& other : cpu_rooms(view))
      if (other.host == room.host && known_now(other.used) && other.used.now > used) {
        used = other.used.now;
        used_before = other.used.before;
      }
    Reading others = room.host_busy;
    others.now -= used;
    others.before = room.host_busy.has_before() && room.used.has_before()
                        ? std::max(0.0, room.host_busy.before - used_before)
                        : kNaN;
    if (others.now <= used) return;
    if (others.has_before() && others.now < 1.5 * others.before && more_threads(view)) return;
    w.contradicts(
        kStrong, fmt::format("other programs use {:.1f} CPUs, the job {:.1f}", others.now, used),
        row("CPUs that others use", "node_cpu_seconds_total", room.host, others, "CPUs", false));
    return;
  }
}

Verdict test(const View& view) {
  Weighing w;
  const Stake s = stake(view, kPhasesExplained);
  if (!w.gate(s)) return std::move(w).verdict("", {});
  weigh_blocked_workers(w, view, s);
  std::string because;
  const auto queue = sum_by_entity(rate(view, "firstwait_process_runqueue_seconds_total"));
  const auto cpu = sum_by_entity(rate(view, "firstwait_process_cpu_seconds_total"));
  const auto waits = ratio(queue, cpu);
  for (const auto& r : waits) {
    if (r.now >= kQueue.value) {
      w.supports(kPositive,
                 row("threads wait for a CPU per second they run",
                     "firstwait_process_runqueue_seconds_total", r.entity, r, "ratio", true));
      because = fmt::format("threads wait {} as long for a CPU as they run", times(r.now));
      w.where(r.entity).link("Threads wait for a CPU", r.entity,
                             times(r.now) + " their running time");
      // What was as it is now did not make the step longer.
      if (s.before_s == s.before_s && r.has_before() && r.now < 1.5 * r.before)
        w.contradicts(kStrong,
                      fmt::format("threads waited {} as long as they ran before, {} now",
                                  times(r.before), times(r.now)),
                      row("as before", "firstwait_process_runqueue_seconds_total", r.entity, r,
                          "ratio", false));
      weigh_others(w, view);
      break;
    }
    w.contradicts(kStrong, fmt::format("threads wait {} of the time they run", percent(r.now)),
                  row("threads wait for a CPU", "firstwait_process_runqueue_seconds_total",
                      r.entity, r, "ratio", false));
    break;
  }
  const auto threads = sum_by_entity(gauge(view, "firstwait_process_threads"));
  if (const auto more = more_threads(view))
    w.hints(kPositive,
            row("threads of the job", "firstwait_process_threads", "", *more, "threads", true));
  for (const auto& room : cpu_rooms(view)) {
    std::string how;
    double per_process = 0;
    const double planned = planned_threads(view, room, &how, &per_process);
    // Processes that compute with one thread each may be too many, but there is nothing to limit.
    if (per_process > 0 && per_process <= 1 && !more_threads(view)) {
      w.contradicts(kStrong, fmt::format("each process computes with one thread ({})", how),
                    fact(how, "env.OMP_NUM_THREADS", room.entity, per_process, "threads", false));
    } else if (planned >= kThreads.value * room.allowed) {
      const auto f = fact(
          fmt::format("{:.0f} compute threads for {:.0f} CPUs: {}", planned, room.allowed, how),
          "env.OMP_NUM_THREADS", room.entity, planned / room.allowed, "ratio", true);
      if (because.empty())
        because = fmt::format("{:.0f} compute threads share {:.0f} CPUs ({})", planned,
                              room.allowed, how);
      w.supports(waits.empty() ? kWeak + 0.5 : kPositive, f);
      w.where(room.entity);
    } else if (planned > 0) {
      w.contradicts(
          kPositive, fmt::format("{:.0f} compute threads for {:.0f} CPUs", planned, room.allowed),
          fact(how, "env.OMP_NUM_THREADS", room.entity, planned / room.allowed, "ratio", false));
    }
    const auto* t = of_entity(threads, room.host.empty() ? room.entity : room.host);
    if (t != nullptr && t->now >= kThreads.value * room.allowed)
      w.hints(kWeak,
              row("threads alive", "firstwait_process_threads", t->entity, *t, "threads", true));
    break;
  }
  for (const auto& r :
       sum_by_entity(rate(view, "firstwait_process_involuntary_context_switches_total")))
    if (r.has_before() && r.now >= 2 * r.before && r.now > 0) {
      w.hints(kWeak, row("threads are pushed off their CPU",
                         "firstwait_process_involuntary_context_switches_total", r.entity, r, "1/s",
                         true));
      break;
    }
  return std::move(w).verdict(
      because, {"firstwait_process_runqueue_seconds_total", "env.OMP_NUM_THREADS", "cpu.count"});
}

}  // namespace

extern const Hypothesis hypothesis_input_thread_oversubscription{
    .id = "input.thread_oversubscription",
    .claim = "far more compute threads than cores",
    .decides = "thread counts, OMP_NUM_THREADS, involuntary switches, run-queue wait",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 5,
    .prior = 0,
    .test = test};

}  // namespace firstwait
