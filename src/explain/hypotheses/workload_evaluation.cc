#include <fmt/core.h>

#include "explain/workload_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::evaluation, Phase::unexplained};
constexpr std::string_view kNeeds[] = {"evaluation events", "step phases with evaluation",
                                       "steps of kind evaluation"};
constexpr Threshold kThresholds[] = {kRelevantShare, kSlowRatio};

Verdict test(const View& view) {
  Weighing w;
  const auto run = phase_run(view, Phase::evaluation);
  const auto m = match_events(view, "evaluation");
  std::string because;
  double cost = kNaN;
  if (run.per_step_s > 0) {
    cost = run.per_step_s;
    auto e = fact("evaluation between training steps", "ledger.evaluation", "", run.per_step_s,
                  "s/step", true);
    if (run.share < kRelevantShare.value) {
      w.contradicts(kStrong, fmt::format("evaluation is {} of the time", percent(run.share)),
                    std::move(e));
    } else if (throughout(run)) {
      w.supports(kPositive, std::move(e));
      because = fmt::format("evaluation takes {} of the time", percent(run.share));
    } else if (run.share_before == run.share_before &&
               run.share_now < run.share_before + kRelevantShare.value) {
      w.contradicts(kStrong,
                    fmt::format("evaluation did not grow: {} → {} of the time",
                                percent(run.share_before), percent(run.share_now)),
                    std::move(e));
    } else {
      w.supports(kStrong + 0.5, std::move(e));
      because = fmt::format("evaluation takes {} of the time", percent(run.share));
    }
  } else if (m.events > 0 && m.ratio == m.ratio && m.others >= m.steps.size()) {
    cost = m.cost_s_per_step;
    auto e = fact("steps with an evaluation against the others", "event.evaluation", "", m.ratio,
                  "ratio", true);
    if (m.ratio >= kSlowRatio.value) {
      w.supports(m.steps.size() >= 3 ? kStrong : kWeak, std::move(e));
      because = fmt::format("steps with an evaluation take {} the others' time", times(m.ratio));
    } else {
      w.contradicts(kStrong,
                    fmt::format("steps with an evaluation take {} of the others", times(m.ratio)),
                    std::move(e));
    }
  }
  w.link("Training stops for evaluation",
         m.events > 0 ? fmt::format("{} evaluations", m.events) : "",
         seconds(cost) + " a step on average");
  auto v = std::move(w).verdict(
      because, {"evaluation events with times or steps", "step phases with evaluation"});
  if (v.outcome == Outcome::supported && cost > 0) v.effect = Effect{cost, {kNaN, cost}};
  if (run.per_step_s > 0) v.since = run.since;
  v.throughout = run.per_step_s > 0 && throughout(run);
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_workload_evaluation{
    .id = "workload.evaluation",
    .claim = "evaluation runs between training steps: expected work",
    .decides = "evaluation spans or events, and what they take",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 1,
    .prior = 0,
    .test = test};

}  // namespace firstwait
