#include "attribute/attribute.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "attribute/grouping.h"
#include "attribute/job_steps.h"
#include "attribute/ledger.h"
#include "attribute/level.h"
#include "attribute/onset.h"
#include "attribute/pattern.h"
#include "attribute/pauses.h"
#include "attribute/segments.h"
#include "attribute/step_sources.h"
#include "attribute/thresholds.h"
#include "attribute/trace_steps.h"
#include "attribute/what_if.h"
#include "attribute/workers.h"
#include "base/saturate.h"
#include "base/stats.h"

namespace firstwait {
namespace {

Window window_of(const JobSteps& steps, size_t first, size_t last) {
  Window w;
  w.first = first;
  w.last = last;
  w.empty = false;
  w.from = steps.start[first];
  w.to = steps.start[last] == kNoTime ? kNoTime : sat_add(steps.start[last], steps.time[last]);
  return w;
}

std::vector<double> seconds_of(const JobSteps& steps, const std::vector<size_t>& columns) {
  std::vector<double> values;
  values.reserve(columns.size());
  for (const size_t c : columns) values.push_back(static_cast<double>(steps.time[c]) / 1e9);
  return values;
}

Onset onset_of(const JobSteps& steps, const std::vector<size_t>& steady, const Change& change) {
  Onset onset;
  const size_t c = steady[change.at];
  onset.step = steps.step[c];
  onset.time = steps.start[c];
  onset.step_lo = steps.step[steady[change.lo]];
  onset.step_hi = steps.step[steady[change.hi]];
  return onset;
}

// Sets onset, drift or episodes, and with them the windows that are compared.
void find_change(const StepGrid& grid, const std::vector<size_t>& steady,
                 const std::vector<double>& values, const Changes& changes, Attribution& a) {
  const JobSteps& steps = grid.steps;
  const Drift drift = find_drift(values);
  // One line that fits better than the levels: the change has no moment.
  const bool drifts = drift.found && drift.misfit < misfit(values, changes);
  if (drifts) {
    a.pattern.kind = PatternKind::drift;
    const size_t part = std::max<size_t>(2, values.size() / 5);
    a.baseline = window_of(steps, steady.front(), steady[part - 1]);
    a.current = window_of(steps, steady[steady.size() - part], steady.back());
    return;
  }
  for (const Stretch& s : past_episodes(changes)) {
    Episode e;
    e.first_step = steps.step[steady[s.first]];
    e.last_step = steps.step[steady[s.last]];
    e.window = window_of(steps, steady[s.first], steady[s.last]);
    double usual = INFINITY;
    for (const Stretch& other : changes.stretches)
      if (other.last + 1 == s.first || other.first == s.last + 1)
        usual = std::min(usual, other.level);
    e.ratio = s.level / usual;
    e.seconds_per_step = s.level - usual;
    a.episodes.push_back(e);
  }
  if (const auto at = explaining_change(changes); at) {
    const Stretch& before = changes.stretches[*at];
    a.onset = onset_of(steps, steady, changes.changes[*at]);
    a.pattern.kind = PatternKind::step;
    a.baseline = window_of(steps, steady[before.first], steady[before.last]);
    a.current = window_of(steps, steady[changes.changes[*at].at], steady.back());
  } else if (!changes.stretches.empty() && !a.episodes.empty()) {
    a.current = window_of(steps, steady[changes.stretches.back().first], steady.back());
  }
}

void compare_windows(const JobSteps& steps, Attribution& a) {
  const auto now = columns_of(steps, a.current);
  a.current_s = mean_seconds(steps, now);
  if (a.baseline.empty) return;
  const auto past = columns_of(steps, a.baseline);
  a.baseline_kind = BaselineKind::past;
  a.baseline_s = mean_seconds(steps, past);
  if (a.baseline_s > 0) a.slowdown = a.current_s / a.baseline_s;
  const auto [lo, hi] =
      bootstrap_ratio(seconds_of(steps, past), seconds_of(steps, now), Statistic::mean);
  a.slowdown_ci = {lo, hi};
  if (a.onset) a.onset->before_s = a.baseline_s, a.onset->after_s = a.current_s;
}

// Without a past the late ranks' peers are the baseline: the job as if those had kept their pace.
void use_peers(Attribution& a) {
  if (a.baseline_kind != BaselineKind::none || a.steps.step.empty()) return;
  double cost = 0;
  for (const Straggle& s : a.straggles)
    if (s.first_step <= a.steps.step[a.current.first] &&
        s.last_step >= a.steps.step[a.current.last])
      cost = std::max(cost, s.seconds_per_step);
  if (!(cost > 0) || !(cost < a.current_s) || a.current_s < kMinimumEffect * (a.current_s - cost))
    return;
  a.baseline_kind = BaselineKind::peers;
  a.baseline_s = a.current_s - cost;
  a.slowdown = a.current_s / a.baseline_s;
  if (a.pattern.kind == PatternKind::none) {
    a.pattern.kind = PatternKind::chronic;
    a.pattern.cost_s_per_step = cost;
  }
}

// Ranks that are or were late, or whose phase stands out: the set that grouping explains.
std::vector<int32_t> slow_ranks(const Attribution& a) {
  std::set<int32_t> slow;
  for (const Straggle& s : a.straggles) slow.insert(s.rank);
  if (slow.empty())
    for (const LedgerRow& row : a.ledger) slow.insert(row.ranks.begin(), row.ranks.end());
  return {slow.begin(), slow.end()};
}

// Op records tell wait, own work and critical path better than the phases made of them.
void use_ops(const OpAnalysis& ops, StepGrid& grid) {
  for (size_t i = 0; i < grid.row.size(); ++i) {
    const uint32_t row = grid.row[i];
    if (row == kNoRow) continue;
    Ns own = 0;
    for (const Phase p : {Phase::forward, Phase::backward, Phase::optimizer, Phase::gc})
      own += std::max<Ns>(0, ops.steps.phase(row, p));
    grid.ranks.own_time[i] = own;
    if (ops.wait[row] != kNoDuration && !grid.wait.empty()) grid.wait[i] = ops.wait[row];
  }
  for (size_t c = 0, p = 0; c < grid.columns() && p < ops.path.size(); ++c) {
    while (p < ops.path.size() && ops.path.step[p] < grid.steps.step[c]) ++p;
    if (p == ops.path.size() || ops.path.step[p] != grid.steps.step[c]) continue;
    grid.steps.time[c] = ops.path.time[p];
    grid.steps.critical_rank[c] = ops.path.critical_rank[p];
    for (size_t k = 0; k < kPhases; ++k) grid.steps.ledger[k][c] = ops.path.ledger[k][p];
  }
}

}  // namespace

Attribution attribute(const Evidence& evidence) {
  Attribution a;
  TraceSteps traces = trace_steps(evidence);
  OpAnalysis ops = analyse_ops(evidence);
  a.what_if = std::move(ops.what_if);
  const auto joined = join_traces(evidence.steps, traces.steps);
  const StepTable& measured = joined                      ? *joined
                              : evidence.steps.size() > 0 ? evidence.steps
                              : traces.steps.size() > 0   ? traces.steps
                                                          : ops.steps;
  // Traces tell what happens between their steps, and the replay has steps of its own.
  const std::vector<Ns> between = &measured == &traces.steps ? std::move(traces.between)
                                  : &measured == &ops.steps
                                      ? std::vector<Ns>(ops.steps.size(), kNoDuration)
                                      : pauses(measured, evidence);
  const bool told = &measured == &traces.steps || &measured == &ops.steps;
  std::optional<StepTable> paused;
  if (!told && std::any_of(between.begin(), between.end(), [](Ns pause) { return pause > 0; }))
    paused = with_pauses(measured, between, evidence);
  const StepTable& table = paused ? *paused : measured;
  StepGrid grid = build_grid(table, between, evidence);
  if (&measured == &ops.steps) use_ops(ops, grid);
  find_segments(evidence, grid);
  const auto steady = steady_columns(grid);
  if (grid.columns() > 0)
    a.current = steady.empty() ? window_of(grid.steps, 0, grid.columns() - 1)
                               : window_of(grid.steps, steady.front(), steady.back());
  const std::vector<double> values = seconds_of(grid.steps, steady);
  const Changes changes = find_changes(values);
  find_change(grid, steady, values, changes, a);
  Regularity regularity = find_regularity(grid, steady, changes);
  a.outliers = std::move(regularity.outliers);
  if (a.pattern.kind == PatternKind::none) {
    a.pattern = regularity.pattern;
  } else if (regularity.pattern.kind == PatternKind::periodic) {  // beside the lasting change
    const PatternKind kind = a.pattern.kind;
    a.pattern = regularity.pattern;
    a.pattern.kind = kind;
  }
  compare_windows(grid.steps, a);
  a.traces = std::move(traces.facts);
  Workers workers = compare_workers(table, evidence, grid, steady, a.current, a.baseline);
  a.rank_stats = std::move(workers.stats);
  a.straggles = std::move(workers.straggles);
  a.offsets = std::move(workers.offsets);
  fill_level(evidence, table, grid, a);
  name_carriers(table, grid, a.current, a.ledger);
  a.steps = std::move(grid.steps);
  use_peers(a);
  a.groupings = group_slow_ranks(evidence, grid.ranks.ranks, slow_ranks(a));
  a.ranks = std::move(grid.ranks);
  return a;
}

}  // namespace firstwait
