#include <fmt/core.h>

#include <algorithm>

#include "base/stats.h"
#include "explain/workload_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::compile};
constexpr std::string_view kNeeds[] = {"step times from the start of the run",
                                       "step phases with compile"};
constexpr Threshold kThresholds[] = {kRelevantShare};

Verdict test(const View& view) {
  const auto& steps = view.attribution.steps;
  // A profile is taken of a running job: it does not hold the start.
  if (!view.attribution.traces.empty()) return untested({"step times from the start of the run"});
  std::vector<double> steady;
  size_t first = 0;
  double start_up = 0, n = 0;
  while (
      first < steps.size() && first < steps.segment.size() &&
      (steps.segment[first] == SegmentKind::warmup || steps.segment[first] == SegmentKind::compile))
    ++first;
  for (size_t i = first; i < steps.size(); ++i)
    steady.push_back(static_cast<double>(steps.time[i]) * 1e-9);
  if (first == 0 || steady.empty()) return untested({"step times from the start of the run"});
  const double normal = median(steady), whole = run_seconds(view);
  for (size_t i = 0; i < first; ++i) {
    start_up += std::max(0.0, static_cast<double>(steps.time[i]) * 1e-9 - normal);
    n += 1;
  }
  const double share = whole > 0 ? start_up / whole : 0;
  Weighing w;
  auto e = fact("extra time of the first steps", "steps", "", start_up, "s",
                share >= kRelevantShare.value);
  if (share < kRelevantShare.value) {
    w.contradicts(kStrong, fmt::format("start-up is {} of the run", percent(share)), std::move(e));
  } else {
    w.supports(phase_run(view, Phase::compile).total_s > 0 ? kStrong : kPositive, std::move(e));
    w.link("First steps slow", fmt::format("{:.0f} steps", n), seconds(start_up));
  }
  auto v =
      std::move(w).verdict(fmt::format("{} {} longer: start-up, once",
                                       first == 1 ? std::string("the first step takes")
                                                  : fmt::format("the first {} steps take", first),
                                       seconds(start_up)),
                           {});
  if (v.outcome == Outcome::supported) {
    // The steps after it are not slower: it costs the run once, the step nothing.
    v.effect = Effect{0, {0, start_up / static_cast<double>(steps.size())}};
  }
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_workload_compile_warmup{
    .id = "workload.compile_warmup",
    .claim = "compilation and warm-up at the start: expected, once",
    .decides = "extra time of the first steps against the run",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 1,
    .prior = 0,
    .test = test};

}  // namespace firstwait
