#include <fmt/core.h>

#include <algorithm>

#include "explain/workload_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::forward, Phase::backward, Phase::optimizer};
constexpr std::string_view kNeeds[] = {"step phases, or a profiler trace"};
constexpr Threshold kBusy{
    "computing, and exchanging what was computed", 0.9, "ratio",
    "MLPerf Storage rules: an accelerator counts as kept busy from 90 % utilization on"};
constexpr Threshold kMostly{
    "computing against exchanging", 1, "ratio",
    "the roofline's definition: what takes longest bounds (Williams, Waterman and Patterson 2009)"};
constexpr Threshold kThresholds[] = {kBusy, kMostly, kSlowRatio, kRelevantShare};

// Work beside the step that holds up the run: what of its time, and which.
void weigh_interruptions(Weighing& w, const View& view) {
  const auto& a = view.attribution;
  for (const Phase p : {Phase::checkpoint, Phase::gc, Phase::logging}) {
    const double share = phase_run(view, p).share;
    if (share < kRelevantShare.value) continue;
    w.contradicts(kVeryStrong,
                  fmt::format("{} takes {} of the run", phase_words(p), percent(share)),
                  fact(std::string(phase_words(p)), fmt::format("ledger.{}", name(p)), "", share,
                       "ratio", false));
    return;
  }
  const bool returns =
      a.pattern.kind == PatternKind::periodic || a.pattern.kind == PatternKind::intermittent;
  const double share = a.pattern.cost_s_per_step / a.current_s;
  if (returns && share >= kRelevantShare.value)
    w.contradicts(kVeryStrong, fmt::format("slow steps take {} of the run", percent(share)),
                  fact("slow steps", "steps", "", share, "ratio", false));
}

Verdict test(const View& view) {
  const auto& a = view.attribution;
  if (!(a.productive_fraction >= 0)) return untested({"step phases, or a profiler trace"});
  Weighing w;
  const double transfer = a.collective_transfer_s >= 0 && a.current_s > 0
                              ? std::min(a.collective_transfer_s / a.current_s,
                                         1 - std::min(1.0, a.productive_fraction))
                              : 0;
  const double busy = a.productive_fraction + transfer;
  auto e = fact("computing", "productive_fraction", "", a.productive_fraction, "ratio",
                busy >= kBusy.value);
  if (busy < kBusy.value) {
    w.contradicts(kStrong,
                  fmt::format("only {} of the step computes", percent(a.productive_fraction)),
                  std::move(e));
    return std::move(w).verdict("", {});
  }
  if (transfer >= kMostly.value * a.productive_fraction) {
    w.contradicts(kStrong, fmt::format("{} of the step exchanges data", percent(transfer)),
                  std::move(e));
    return std::move(w).verdict("", {});
  }
  w.supports(kStrong, std::move(e));
  weigh_interruptions(w, view);
  // Computing all the time, yet slower than before or than its peers, is not healthy.
  if (a.slowdown >= kSlowRatio.value)
    w.contradicts(kVeryStrong, fmt::format("the step is {} slower than before", times(a.slowdown)),
                  fact("step time", "steps", "", a.current_s, "s", false, a.baseline_s));
  for (const auto& s : a.straggles) {
    w.contradicts(kVeryStrong,
                  fmt::format("rank {} takes {} its peers' time", s.rank, times(s.mean_ratio)),
                  fact("late rank", "straggles", fmt::format("rank/{}", s.rank), s.mean_ratio,
                       "ratio", false));
    break;
  }
  std::string because =
      fmt::format("the GPUs compute {} of each step", percent(a.productive_fraction));
  if (transfer >= 0.01) because += fmt::format(" and exchange data for {}", percent(transfer));
  return std::move(w).verdict(because + "; nothing waits", {});
}

}  // namespace

extern const Hypothesis hypothesis_healthy_compute_bound{
    .id = "healthy.compute_bound",
    .claim = "the GPUs compute; nothing waits",
    .decides = "the ledger is dominated by compute and has no excess",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 1,
    .prior = 0,
    .test = test};

}  // namespace firstwait
