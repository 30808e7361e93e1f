#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "explain/input_signals.h"
#include "explain/late_steps.h"
#include "explain/workload_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::unexplained, Phase::host,     Phase::optimizer,
                                      Phase::forward,     Phase::backward, Phase::collective};
constexpr std::string_view kNeeds[] = {"step times"};
constexpr Threshold kThresholds[] = {kSlowRatio};

// Steps per epoch when all epochs have the same number; nothing otherwise.
std::optional<int32_t> epoch_steps(const View& view) {
  const auto& t = view.evidence.steps;
  std::map<int32_t, std::pair<int32_t, int32_t>> range;
  for (size_t i = 0; i < t.size() && i < t.epoch.size(); ++i) {
    if (t.epoch[i] < 0) continue;
    auto [it, fresh] = range.try_emplace(t.epoch[i], t.step[i], t.step[i]);
    it->second = {std::min(it->second.first, t.step[i]), std::max(it->second.second, t.step[i])};
  }
  if (range.size() < 2) return std::nullopt;
  return std::next(range.begin())->second.first - range.begin()->second.first;
}

// Of what the steps of the period take longer than the others, the part that waits for input; NaN
// unknown.
double waiting_part(const View& view) {
  const auto& steps = view.attribution.steps;
  const auto& wait = steps.ledger[index(Phase::input_wait)];
  const auto& p = view.attribution.pattern;
  if (wait.size() != steps.size() || *p.period_steps <= 0) return kNaN;
  double time[2] = {0, 0}, waits[2] = {0, 0}, n[2] = {0, 0};
  for (size_t i = 0; i < steps.size(); ++i) {
    const size_t on = steps.step[i] % *p.period_steps == p.period_phase ? 1 : 0;
    time[on] += static_cast<double>(steps.time[i]);
    waits[on] += static_cast<double>(wait[i]);
    n[on] += 1;
  }
  const double longer = time[1] / n[1] - time[0] / n[0];
  return longer > 0 ? (waits[1] / n[1] - waits[0] / n[0]) / longer : kNaN;
}

Verdict test(const View& view) {
  const auto& p = view.attribution.pattern;
  if (view.attribution.steps.size() == 0 && p.kind == PatternKind::none)
    return untested({"step times"});
  Weighing w;
  if (!p.period_steps) {
    w.contradicts(kStrong, fmt::format("no period in {} steps", view.attribution.steps.size()),
                  fact("period", "pattern", "", kNaN, "steps", false));
    return std::move(w).verdict("", {});
  }
  const int32_t period = *p.period_steps;
  auto e = fact(fmt::format("every {} steps, exactly", period), "pattern", "", p.period_ratio,
                "ratio", true);
  for (const auto* kind : {"checkpoint", "evaluation"}) {
    const auto m = match_events(view, kind);
    if (m.slow > 0 && 2 * m.slow_matched > m.slow) {
      w.contradicts(kVeryStrong + 1,
                    fmt::format("{} of {} slow steps have a {}", m.slow_matched, m.slow, kind),
                    fact(fmt::format("{} in the slow steps", kind), fmt::format("event.{}", kind),
                         "", static_cast<double>(m.slow_matched), "steps", false));
    }
  }
  if (const auto workers = loader_workers(view);
      workers && *workers >= 2 && std::lround(*workers) == period)
    w.contradicts(
        kVeryStrong,
        fmt::format("{} loader workers in turn: a stall every {} steps is their round robin",
                    period, period),
        fact("loader workers", "loader.num_workers", "", *workers, "workers", false));
  if (const double waits = waiting_part(view); waits > 0.5)
    w.contradicts(
        kVeryStrong,
        fmt::format("{} of what these steps take longer is waiting for input", percent(waits)),
        fact("waiting for input, of what they take longer", "ledger.input_wait", "", waits, "ratio",
             false));
  // Rank 0 saves and logs for all; another rank alone has no work of its own.
  const LateSteps late = late_steps(view);
  const size_t ranks = view.attribution.ranks.ranks.size();
  if (ranks > 2 && late.matter() && late.one_rank(ranks) && late.latest() != 0)
    w.contradicts(
        kVeryStrong,
        fmt::format("rank {} alone is late in {} of the late steps", late.latest(),
                    percent(late.share_of_latest())),
        fact("late steps of one rank", "rank.own_time", fmt::format("rank/{}", late.latest()),
             late.share_of_latest(), "ratio", false));
  if (const auto n = epoch_steps(view); n && *n == period)
    w.contradicts(kVeryStrong,
                  fmt::format("an epoch has {} steps: the slow step is its start", period),
                  fact("steps per epoch", "steps.epoch", "", *n, "steps", false));
  w.supports(kStrong + 0.5, e);
  w.link("One step in a fixed number is slow", fmt::format("every {} steps", period),
         times(p.period_ratio));
  auto v =
      std::move(w).verdict(fmt::format("work that comes every {} steps makes that step {} as long",
                                       period, times(p.period_ratio)),
                           {});
  if (v.outcome == Outcome::supported && p.cost_s_per_step > 0)
    v.effect = Effect{p.cost_s_per_step, {kNaN, p.cost_s_per_step}};
  v.throughout = p.kind != PatternKind::periodic;
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_workload_periodic_work{
    .id = "workload.periodic_work",
    .claim = "the program itself does extra work every few steps",
    .decides =
        "an exact period in steps that is not that of saves, evaluations, loader workers or epochs",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 1,
    .prior = 0,
    .test = test};

}  // namespace firstwait
