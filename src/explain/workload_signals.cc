#include "explain/workload_signals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/stats.h"
#include "base/text.h"

namespace firstwait {
namespace {

double in_seconds(Ns t) { return static_cast<double>(t) * 1e-9; }

double window_share(const JobSteps& steps, Phase phase, const Window& w) {
  if (w.empty) return kNaN;
  double part = 0, whole = 0;
  for (size_t i = w.first; i <= w.last && i < steps.size(); ++i) {
    whole += in_seconds(steps.time[i]);
    if (i < steps.ledger[index(phase)].size()) part += in_seconds(steps.ledger[index(phase)][i]);
  }
  return whole > 0 ? part / whole : kNaN;
}

// Where occurrences began to take longer: each of those after it longer than each before, which
// happens by chance once in a binomial coefficient. Nothing where several places are such: they
// grow.
std::optional<size_t> longer_from(const std::vector<Ns>& taken) {
  constexpr size_t kEachSide = 3;
  constexpr double kChance = 0.01;
  std::optional<size_t> best;
  for (size_t k = kEachSide; k + kEachSide <= taken.size(); ++k) {
    const auto at = taken.begin() + static_cast<std::ptrdiff_t>(k);
    const Ns before = *std::max_element(taken.begin(), at),
             after = *std::min_element(at, taken.end());
    const double n = static_cast<double>(taken.size()), x = static_cast<double>(k);
    const double ways = std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1));
    if (static_cast<double>(after) < kSlowRatio.value * static_cast<double>(before) ||
        ways * kChance < n)
      continue;
    if (best) return std::nullopt;
    best = k;
  }
  return best;
}

// Ranks of which each spends at least half of what the first of them does, when others do not.
std::vector<int32_t> ranks_with(const View& view, Phase phase) {
  const StepTable& t = view.evidence.steps;
  std::map<int32_t, double> spent;
  for (size_t row = 0; row < t.size(); ++row)
    spent[t.rank[row]] += in_seconds(std::max<Ns>(t.phase(row, phase), 0));
  double most = 0;
  for (const auto& [rank, seconds] : spent) most = std::max(most, seconds);
  std::vector<int32_t> out;
  for (const auto& [rank, seconds] : spent)
    if (most > 0 && seconds >= 0.5 * most) out.push_back(rank);
  if (out.size() == spent.size()) out.clear();
  return out;
}

}  // namespace

std::optional<size_t> began_at(const std::vector<size_t>& when) {
  constexpr size_t kLeast = 3;
  if (when.size() < kLeast) return std::nullopt;
  size_t longest = 0;
  for (size_t i = 1; i < when.size(); ++i) longest = std::max(longest, when[i] - when[i - 1]);
  return when[0] > kLeast * longest ? std::optional(when[0]) : std::nullopt;
}

Onset onset_at(const JobSteps& steps, size_t column, size_t every) {
  Onset onset;
  onset.step = onset.step_hi = steps.step[column];
  onset.step_lo = steps.step[column - std::min(column, std::max<size_t>(every, 1) - 1)];
  onset.time = column < steps.start.size() ? steps.start[column] : kNoTime;
  return onset;
}

double run_seconds(const View& view) {
  double sum = 0;
  for (const Ns t : view.attribution.steps.time) sum += in_seconds(t);
  return sum;
}

PhaseRun phase_run(const View& view, Phase phase) {
  PhaseRun r;
  const auto& steps = view.attribution.steps;
  const auto& column = steps.ledger[index(phase)];
  const size_t n = std::min(steps.size(), column.size());
  // Steps that a log alone tells of say nothing of phases.
  const auto& unexplained = steps.ledger[index(Phase::unexplained)];
  const auto told = [&](size_t i) {
    return i >= unexplained.size() || unexplained[i] < steps.time[i];
  };
  bool any = false;
  for (size_t i = 0; i < n && !any; ++i) any = told(i);
  // A trace of it in every step is noise of the record; an occurrence is a relevant part of its
  // step.
  for (size_t i = 0; i < n; ++i)
    if (column[i] > 0 &&
        static_cast<double>(column[i]) >= kRelevantShare.value * static_cast<double>(steps.time[i]))
      r.when.push_back(i);
  auto first = began_at(r.when);
  if (!first) {
    std::vector<Ns> taken;
    for (const size_t i : r.when) taken.push_back(column[i]);
    if (const auto k = longer_from(taken)) first = r.when[*k];
  }
  if (first) {
    const auto at = std::find(r.when.begin(), r.when.end(), *first);
    const size_t every = at == r.when.begin() ? r.when[1] - r.when[0] : *at - *std::prev(at);
    r.since = onset_at(steps, *first, every);
  }
  r.ranks = ranks_with(view, phase);
  double whole = 0;
  for (size_t i = first.value_or(0); i < n; ++i) {
    if (any && !told(i)) continue;
    ++r.steps;
    whole += in_seconds(steps.time[i]);
    r.total_s += in_seconds(column[i]);
  }
  if (r.steps > 0) {
    r.per_step_s = r.total_s / static_cast<double>(r.steps);
    r.share = whole > 0 ? r.total_s / whole : 0;
    r.share_now = window_share(steps, phase, view.attribution.current);
    r.share_before = window_share(steps, phase, view.attribution.baseline);
    return r;
  }
  // No series of steps: the ledger's means.
  if (const auto* row = ledger_row(view, phase)) {
    r.per_step_s = row->seconds;
    r.share = r.share_now = row->share;
    if (row->before && view.attribution.baseline_s > 0)
      r.share_before = *row->before / view.attribution.baseline_s;
  }
  return r;
}

std::vector<size_t> slow_steps(const View& view) {
  std::set<size_t> out;
  const auto& steps = view.attribution.steps;
  const auto& p = view.attribution.pattern;
  std::set<int32_t> outliers;
  for (const auto& o : view.attribution.outliers) outliers.insert(o.step);
  for (size_t i = 0; i < steps.size(); ++i) {
    const bool on_period =
        p.period_steps && *p.period_steps > 0 && steps.step[i] % *p.period_steps == p.period_phase;
    if (on_period || outliers.contains(steps.step[i])) out.insert(i);
  }
  return {out.begin(), out.end()};
}

// Periodic work of its own must not be taken for the event's: a step is compared with those at the
// same place in the period only.
static void compare_within_class(const Attribution& a, const std::set<size_t>& with,
                                 EventMatch& m) {
  const auto& steps = a.steps;
  const int32_t period = a.pattern.period_steps.value_or(0);
  const auto slow_class = [&](size_t i) {
    return period > 1 && steps.step[i] % period == a.pattern.period_phase ? size_t{1} : size_t{0};
  };
  std::array<std::vector<double>, 2> in, out;
  for (size_t i = 0; i < steps.size(); ++i)
    (with.contains(i) ? in : out)[slow_class(i)].push_back(in_seconds(steps.time[i]));
  m.others = out[0].size() + out[1].size();
  std::vector<double> ratios;
  double extra = 0;
  for (size_t c = 0; c < 2; ++c) {
    // When all of a class have the event, the event is what makes the class: then the others are
    // normal.
    const auto& normal_steps = out[c].empty() ? out[1 - c] : out[c];
    const double normal = normal_steps.empty() ? kNaN : median(normal_steps);
    if (!(normal > 0)) continue;
    for (const double t : in[c]) {
      ratios.push_back(t / normal);
      extra += std::max(0.0, t - normal);
    }
  }
  if (ratios.empty()) return;
  m.ratio = median(ratios);
  m.cost_s_per_step = extra / static_cast<double>(steps.size());
}

EventMatch match_events(const View& view, std::string_view kind) {
  EventMatch m;
  const auto& steps = view.attribution.steps;
  std::set<size_t> with;
  for (const auto* e : events(view, kind)) {
    bool placed = false;
    if (const auto step = parse_int(e->attribute("step"))) {
      const auto it = std::find(steps.step.begin(), steps.step.end(), *step);
      if (it != steps.step.end()) {
        with.insert(static_cast<size_t>(it - steps.step.begin()));
        placed = true;
      }
    } else if (e->start != kNoTime && steps.size() > 0 && steps.start.front() != kNoTime) {
      // The last step that began before the event; its end belongs to the next one.
      const auto it = std::upper_bound(steps.start.begin(), steps.start.end(), e->start);
      if (it != steps.start.begin()) {
        const auto i = static_cast<size_t>(it - steps.start.begin()) - 1;
        const bool inside = i + 1 < steps.size() ||
                            in_seconds(e->start - steps.start[i]) <= in_seconds(steps.time[i]);
        if (inside) {
          // A save between two steps lengthens the gap, which counts to neither: take the longer
          // neighbour.
          const bool after = e->start >= steps.start[i] + steps.time[i] && i + 1 < steps.size();
          with.insert(after ? i + 1 : i);
          placed = true;
        }
      }
    }
    if (placed) ++m.events;
  }
  // The first steps are long for reasons of their own.
  std::erase_if(with, [&](size_t i) {
    return steps.segment[i] == SegmentKind::warmup || steps.segment[i] == SegmentKind::compile;
  });
  m.steps.assign(with.begin(), with.end());
  compare_within_class(view.attribution, with, m);
  for (const size_t s : slow_steps(view)) {
    ++m.slow;
    if (with.contains(s)) ++m.slow_matched;
  }
  return m;
}

}  // namespace firstwait
