#include <fmt/core.h>

#include <algorithm>

#include "base/stats.h"
#include "explain/workload_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::checkpoint};
constexpr std::string_view kNeeds[] = {"checkpoint events with start and end",
                                       "step phases with checkpoint"};
constexpr Threshold kTrend{"chance of no trend", 0.01, "p",
                           "Mann-Kendall test, two-sided, at the 1 % level"};
constexpr Threshold kSaves{"saves", 5, "saves",
                           "Mann-Kendall: with four values no order reaches p below 0.08"};
constexpr Threshold kThresholds[] = {kTrend, kSaves, kSlowRatio};

std::vector<double> save_seconds(const View& view) {
  std::vector<const Event*> saves;
  for (const auto* e : events(view, "checkpoint"))
    if (e->start != kNoTime && e->end != kNoTime && e->end > e->start &&
        e->attribute("status") != "failed")
      saves.push_back(e);
  std::stable_sort(saves.begin(), saves.end(),
                   [](const auto* a, const auto* b) { return a->start < b->start; });
  std::vector<double> out;
  for (const auto* e : saves)
    out.push_back((static_cast<double>(e->end) - static_cast<double>(e->start)) * 1e-9);
  if (!out.empty()) return out;
  const auto run = phase_run(view, Phase::checkpoint);
  for (const size_t i : run.when)
    out.push_back(static_cast<double>(view.attribution.steps.ledger[index(Phase::checkpoint)][i]) *
                  1e-9);
  return out;
}

Verdict test(const View& view) {
  const auto saves = save_seconds(view);
  if (static_cast<double>(saves.size()) < kSaves.value)
    return untested({"five saves or more with start and end"});
  std::vector<double> x;
  for (size_t i = 0; i < saves.size(); ++i) x.push_back(static_cast<double>(i));
  const auto trend = theil_sen(x, saves);
  const double p = mann_kendall_p(saves);
  const double last = trend.intercept + trend.slope * x.back();
  const double growth = trend.intercept > 0 ? last / trend.intercept : kNaN;
  Weighing w;
  auto e = fact("time of a save, first to last", "event.checkpoint", "", last, "s", true,
                trend.intercept);
  if (p < kTrend.value && growth >= kSlowRatio.value) {
    w.supports(kStrong, std::move(e));
    w.link("Saves take longer each time", fmt::format("{} saves", saves.size()),
           change_text(trend.intercept, last));
  } else {
    w.contradicts(
        kStrong,
        growth >= kSlowRatio.value
            ? fmt::format("no trend over {} saves (p = {:.2g})", saves.size(), p)
            : fmt::format("saves went from {} to {}", seconds(trend.intercept), seconds(last)),
        std::move(e));
  }
  auto v = std::move(w).verdict(fmt::format("saves take longer each time: {} at first, {} at last",
                                            seconds(trend.intercept), seconds(last)),
                                {});
  const auto run = phase_run(view, Phase::checkpoint);
  const auto steps = run.per_step_s > 0 ? run.steps : view.attribution.steps.size();
  if (v.outcome == Outcome::supported && steps > 0) {
    v.since = run.since;
    double extra = 0;
    for (const double s : saves) extra += std::max(0.0, s - trend.intercept);
    v.effect = Effect{extra / static_cast<double>(steps), {0, extra / static_cast<double>(steps)}};
  }
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_workload_checkpoint_growth{
    .id = "workload.checkpoint_growth",
    .claim = "saves take longer each time",
    .decides = "trend of save times (Theil-Sen, Mann-Kendall)",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 1,
    .prior = 0,
    .test = test};

}  // namespace firstwait
