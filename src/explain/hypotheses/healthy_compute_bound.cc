#include <fmt/core.h>

#include "explain/workload_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::forward, Phase::backward, Phase::optimizer};
constexpr std::string_view kNeeds[] = {"step phases, or a profiler trace"};
constexpr Threshold kBusy{
    "productive fraction", 0.9, "ratio",
    "MLPerf Storage rules: an accelerator counts as kept busy from 90 % utilization on"};
constexpr Threshold kThresholds[] = {kBusy, kSlowRatio};

Verdict test(const View& view) {
  const auto& a = view.attribution;
  if (!(a.productive_fraction >= 0)) return untested({"step phases, or a profiler trace"});
  Weighing w;
  auto e = fact("computing", "productive_fraction", "", a.productive_fraction, "ratio",
                a.productive_fraction >= kBusy.value);
  if (a.productive_fraction < kBusy.value) {
    w.contradicts(kStrong,
                  fmt::format("only {} of the step computes", percent(a.productive_fraction)),
                  std::move(e));
    return std::move(w).verdict("", {});
  }
  w.supports(kStrong, std::move(e));
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
  return std::move(w).verdict(fmt::format("the GPUs compute {} of each step; nothing waits",
                                          percent(a.productive_fraction)),
                              {});
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
