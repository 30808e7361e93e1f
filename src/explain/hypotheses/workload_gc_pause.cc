#include <fmt/core.h>

#include "explain/workload_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::gc};
constexpr std::string_view kNeeds[] = {
    "step phases with gc, or a profiler trace with the collector's spans"};
constexpr Threshold kThresholds[] = {kRelevantShare};

Verdict test(const View& view) {
  Weighing w;
  const auto run = phase_run(view, Phase::gc);
  double traced = 0, steps = 0;
  for (const auto& t : view.attribution.traces)
    if (t.gc_s >= 0) {
      traced += t.gc_s * t.steps;
      steps += t.steps;
    }
  if (run.steps == 0 && steps > 0 && view.attribution.current_s > 0 &&
      traced / steps < kRelevantShare.value * view.attribution.current_s) {
    w.contradicts(kStrong,
                  fmt::format("garbage collection is {} of the step",
                              percent(traced / steps / view.attribution.current_s)),
                  fact("garbage collection", "gc_s", "", traced / steps, "s/step", false));
    return std::move(w).verdict("", {});
  }
  const Stake s = stake(view, kPhasesExplained);
  if (run.per_step_s <= 0 && s.state == Stake::State::unknown)
    return untested({"step phases with gc, or a profiler trace with the collector's spans"});
  if (run.share < kRelevantShare.value && s.state != Stake::State::present) {
    w.contradicts(kStrong,
                  fmt::format("{} is {} of the run", phase_words(Phase::gc), percent(run.share)),
                  fact("garbage collection", "ledger.gc", "", run.per_step_s, "s/step", false));
    return std::move(w).verdict("", {});
  }
  if (!throughout(run) && run.share_before == run.share_before &&
      run.share_now < run.share_before + kRelevantShare.value) {
    w.contradicts(kStrong,
                  fmt::format("{} did not grow: {} → {} of the time", phase_words(Phase::gc),
                              percent(run.share_before), percent(run.share_now)),
                  fact("garbage collection", "ledger.gc", "", run.share_now, "ratio", false,
                       run.share_before));
    return std::move(w).verdict("", {});
  }
  w.supports(throughout(run) ? kPositive : kStrong + 0.5,
             fact("garbage collection", "ledger.gc", "", run.per_step_s, "s/step", true));
  w.link("The collector stops the training thread",
         run.when.empty() ? "" : fmt::format("in {} of {} steps", run.when.size(), run.steps),
         percent(run.share) + " of the time");
  auto v = std::move(w).verdict(
      fmt::format("garbage collection stops the training thread {} of the time",
                  percent(run.share)),
      {});
  if (v.outcome == Outcome::supported) v.effect = Effect{run.per_step_s, {kNaN, run.per_step_s}};
  if (run.per_step_s > 0) v.since = run.since;
  v.throughout = throughout(run);
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_workload_gc_pause{
    .id = "workload.gc_pause",
    .claim = "garbage collection stops the training thread",
    .decides = "garbage-collection spans, moving between ranks",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 1,
    .prior = 0,
    .test = test};

}  // namespace firstwait
