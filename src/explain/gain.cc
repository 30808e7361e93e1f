#include "explain/gain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "explain/input_bound.h"
#include "explain/signals.h"
#include "explain/weigh.h"

namespace firstwait {
namespace {

// Speedup when `seconds` of the current step go away; NaN when that is not known or would leave
// nothing.
double speedup_without(double step, double seconds) {
  if (!(step > 0) || !(seconds >= 0) || seconds >= step) return kNaN;
  return step / (step - seconds);
}

std::string all_words(std::span<const Phase> phases) {
  std::string out;
  for (const Phase p : phases) {
    if (!out.empty()) out += ", ";
    out += phase_words(p);
  }
  return out;
}

// What the gain takes away, in words: a phase that holds too little is not it.
std::string what_leaves(const View& view, const Tested& t) {
  if (!t.cell) return all_words(t.hypothesis->accounts_for);
  return phase_seconds(view, *t.cell) >= 0.5 * t.verdict.effect->seconds_per_step
             ? all_words(std::span<const Phase>(&*t.cell, 1))
             : "its cost";
}

// What takes most of the step once the phases of the cause are gone.
std::string binds_next(const View& view, std::span<const Phase> removed) {
  double compute = 0;
  const LedgerRow* wait = nullptr;
  for (const auto& row : view.attribution.ledger) {
    if (std::find(removed.begin(), removed.end(), row.phase) != removed.end()) continue;
    if (is_compute(row.phase)) {
      compute += row.seconds;
    } else if (wait == nullptr || row.seconds > wait->seconds) {
      wait = &row;
    }
  }
  if (wait != nullptr && wait->seconds > compute)
    return wait->phase == Phase::unexplained ? std::string()
                                             : std::string(phase_words(wait->phase));
  return compute > 0 ? "compute" : "";
}

std::optional<InputLimit> input_limit(GainModel model) {
  if (model == GainModel::reads) return InputLimit::reads;
  if (model == GainModel::workers) return InputLimit::workers;
  if (model == GainModel::cpus) return InputLimit::cpus;
  return std::nullopt;
}

// What still binds when a limit of the input is gone. The mean step is as uncertain as its
// slowdown.
void bound_by_input(const View& view, InputLimit limit, double wait_s, Action& action) {
  const double most = action.speedup.hi;
  if (!(most > 1)) return;
  InputBound b = without(input_demand(view, wait_s), limit, most);
  const auto& a = view.attribution;
  if (b.speedup.known() && a.slowdown_ci.known() && a.slowdown > 0) {
    b.speedup.lo *= a.slowdown_ci.lo / a.slowdown;
    b.speedup.hi = std::min(most, b.speedup.hi * a.slowdown_ci.hi / a.slowdown);
  }
  action.speedup = b.speedup;
  action.then_bound_by = b.bound_by;
  if (b.missing.empty() || !b.bound_by.empty()) action.assumption = std::move(b.assumption);
  if (!b.missing.empty())
    action.assumption += fmt::format("; not measured: {}", fmt::join(b.missing, ", "));
}

void predict(const View& view, const Tested& tested, GainModel model, Action& action) {
  const auto& a = view.attribution;
  const double step = step_with(view, tested);
  const auto& effect = tested.verdict.effect;
  switch (model) {
    case GainModel::none:
      return;
    case GainModel::excess:
      if (!a.baseline.empty && a.slowdown > 1) {
        action.speedup = a.slowdown_ci.known() ? a.slowdown_ci : Interval{kNaN, a.slowdown};
        action.assumption = "the step returns to its own past";
        return;
      }
      [[fallthrough]];
    case GainModel::replay:
    case GainModel::remove_phase:
    case GainModel::reads:
    case GainModel::workers:
    case GainModel::cpus:
      if (!effect || !(effect->seconds_per_step > 0)) return;
      const double hi = effect->interval.hi > 0 ? effect->interval.hi : effect->seconds_per_step;
      action.speedup.hi = speedup_without(step, hi);
      if (effect->interval.lo > 0) action.speedup.lo = speedup_without(step, effect->interval.lo);
      action.assumption = model == GainModel::replay || tested.hypothesis->id.starts_with("sync.")
                              ? "the late work takes as long as its peers' and nothing else changes"
                              : fmt::format(
                                    "all of {} leaves the step; the lower end is not known from "
                                    "this evidence alone",
                                    what_leaves(view, tested));
      if (model == GainModel::replay && std::isnan(action.speedup.lo) && effect->interval.lo <= 0)
        action.speedup.lo = 1;
      if (const auto limit = input_limit(model); limit && tested.cell == Phase::input_wait)
        bound_by_input(view, *limit, hi, action);
  }
}

}  // namespace

double step_with(const View& view, const Tested& t) {
  const auto& a = view.attribution;
  const double cost = t.verdict.effect ? t.verdict.effect->seconds_per_step : kNaN;
  const bool in_ledger =
      std::any_of(t.hypothesis->accounts_for.begin(), t.hypothesis->accounts_for.end(),
                  [&](Phase p) { return phase_seconds(view, p) >= 0.5 * cost; });
  const bool counted_since = t.hypothesis->id.starts_with("workload.") ||
                             (t.hypothesis->id.starts_with("sync.") && a.straggles.empty());
  const bool began = t.verdict.since && !a.onset && counted_since;
  if (!began && (in_ledger || a.current.empty || a.current.last >= a.steps.size()))
    return a.current_s;
  double sum = 0, n = 0;
  for (size_t s = began ? 0 : a.current.first; s < a.steps.size(); ++s) {
    if (began ? a.steps.step[s] < t.verdict.since->step : s > a.current.last) continue;
    const SegmentKind kind = a.steps.segment[s];
    if (kind == SegmentKind::warmup || kind == SegmentKind::compile) continue;
    sum += static_cast<double>(a.steps.time[s]) * 1e-9;
    ++n;
  }
  return n > 0 ? std::max(a.current_s, sum / n) : a.current_s;
}

std::vector<Action> actions_for(const View& view, const Tested& tested) {
  std::vector<Action> out;
  const std::string_view id = tested.hypothesis->id;
  for (const auto& table : actions()) {
    for (const auto& row : table.module->rows) {
      if (std::find(row.cures.begin(), row.cures.end(), id) == row.cures.end()) continue;
      Action action{.id = std::string(row.id),
                    .text = std::string(row.text),
                    .caution = std::string(row.caution),
                    .speedup = {},
                    .assumption = {},
                    .then_bound_by = {}};
      predict(view, tested, row.gain, action);
      if (action.speedup.hi > 1 && action.then_bound_by.empty())
        action.then_bound_by = binds_next(view, tested.hypothesis->accounts_for);
      out.push_back(std::move(action));
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Action& x, const Action& y) {
    const double a = x.speedup.hi > 0 ? x.speedup.hi : 0, b = y.speedup.hi > 0 ? y.speedup.hi : 0;
    return a > b;
  });
  return out;
}

}  // namespace firstwait
