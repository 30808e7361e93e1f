#include <fmt/core.h>

#include <algorithm>

#include "explain/workload_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::compile};
constexpr std::string_view kNeeds[] = {"step phases with compile",
                                       "a profiler trace with compile spans"};
constexpr Threshold kTimes{
    "compilations after the start", 2, "steps",
    "torch.compiler documentation: a graph is compiled once unless its guards fail"};
constexpr Threshold kThresholds[] = {kRelevantShare, kTimes};

Verdict test(const View& view) {
  Weighing w;
  const auto run = phase_run(view, Phase::compile);
  const auto& a = view.attribution;
  double traced = 0, weight = 0;
  for (const auto& t : a.traces)
    if (t.compile_s >= 0) {
      traced += t.compile_s * t.steps;
      weight += t.steps;
    }
  size_t late = 0;
  double late_s = 0;
  for (const size_t i : run.when) {
    const bool start =
        i < a.steps.segment.size() &&
        (a.steps.segment[i] == SegmentKind::warmup || a.steps.segment[i] == SegmentKind::compile) &&
        std::all_of(a.steps.segment.begin(), a.steps.segment.begin() + static_cast<ptrdiff_t>(i),
                    [](SegmentKind k) { return k != SegmentKind::steady; });
    if (start || i == 0) continue;
    ++late;
    late_s += static_cast<double>(a.steps.ledger[index(Phase::compile)][i]) * 1e-9;
  }
  if (run.steps == 0 && weight > 0 && a.current_s > 0) {
    const double share = traced / weight / a.current_s;
    auto e = fact("compilation in the profiled steps", "compile_s", "", traced / weight, "s/step",
                  share >= kRelevantShare.value);
    if (share >= kRelevantShare.value)
      w.supports(kPositive, std::move(e));
    else
      w.contradicts(kStrong, fmt::format("compilation is {} of the step", percent(share)),
                    std::move(e));
    late_s = traced / weight;
  } else if (run.per_step_s > 0) {
    const double whole = run_seconds(view);
    const double share = whole > 0 ? late_s / whole : run.share;
    auto e = fact("steps that compile after the start", "ledger.compile", "",
                  static_cast<double>(late), "steps", true);
    if (share >= kRelevantShare.value &&
        (static_cast<double>(late) >= kTimes.value || run.steps == 0))
      w.supports(kStrong + 0.5, std::move(e));
    else
      w.contradicts(
          kStrong,
          fmt::format("{} steps compile after the start, {} of the time", late, percent(share)),
          std::move(e));
    if (run.steps > 0)
      late_s /= static_cast<double>(run.steps);
    else
      late_s = run.per_step_s;
  } else {
    return untested({"step phases with compile, or a profiler trace with compile spans"});
  }
  w.link("Compilation returns", fmt::format("{} steps", late), seconds(late_s) + " a step");
  auto v = std::move(w).verdict(
      fmt::format("the program compiles again during training, {} per step", seconds(late_s)), {});
  if (v.outcome == Outcome::supported) v.effect = Effect{late_s, {kNaN, late_s}};
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_workload_recompilation{
    .id = "workload.recompilation",
    .claim = "compilation returns during training",
    .decides = "compile spans after warm-up",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 1,
    .prior = 0,
    .test = test};

}  // namespace firstwait
