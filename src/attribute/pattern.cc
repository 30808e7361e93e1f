#include "attribute/pattern.h"

#include <algorithm>
#include <cmath>

#include "attribute/lattice.h"
#include "attribute/thresholds.h"
#include "base/saturate.h"
#include "base/stats.h"

namespace firstwait {
namespace {

// A training step with what is usual around it.
struct Point {
  size_t column = 0;
  double seconds = 0, level = 0, residual = 0;  // residual: ln(seconds / level)
  double excess() const { return seconds - level; }
};

bool is_training(const StepGrid& grid, size_t c) {
  const SegmentKind s = grid.steps.segment[c];
  if (grid.kind[c] != StepKind::train || grid.complete[c] == 0) return false;
  return s == SegmentKind::steady || s == SegmentKind::evaluation || s == SegmentKind::checkpoint;
}

// Usual time around each point of one stretch: medians of bins, joined by lines. A bin must hold
// enough steps that slow ones of a period stay a minority in it, and be short enough to follow a
// drift.
void set_levels(std::vector<Point>& points, size_t from, size_t to) {
  const size_t n = to - from;
  if (n == 0) return;
  const size_t bins = std::max<size_t>(1, std::min<size_t>(n / 50, 400));
  std::vector<double> centre, level;
  for (size_t b = 0; b < bins; ++b) {
    const size_t lo = from + b * n / bins, hi = from + (b + 1) * n / bins;
    std::vector<double> values;
    for (size_t i = lo; i < hi; ++i) values.push_back(points[i].seconds);
    centre.push_back(static_cast<double>(lo + hi - 1) / 2);
    level.push_back(median(std::move(values)));
  }
  size_t b = 0;
  for (size_t i = from; i < to; ++i) {
    const auto x = static_cast<double>(i);
    while (b + 2 < bins && x > centre[b + 1]) ++b;
    double at = level[b];
    if (bins > 1) {
      const double share = std::clamp((x - centre[b]) / (centre[b + 1] - centre[b]), 0.0, 1.0);
      at = level[b] + share * (level[b + 1] - level[b]);
    }
    points[i].level = at;
    points[i].residual = at > 0 && points[i].seconds > 0 ? std::log(points[i].seconds / at) : 0;
  }
}

std::vector<Point> points_of(const StepGrid& grid, const std::vector<size_t>& steady,
                             const Changes& changes) {
  std::vector<Point> points;
  std::vector<size_t> borders{0};
  size_t next = 0;
  for (size_t c = 0; c < grid.columns(); ++c) {
    while (next < changes.changes.size() && c >= steady[changes.changes[next].at]) {
      borders.push_back(points.size());
      ++next;
    }
    if (!is_training(grid, c)) continue;
    Point p;
    p.column = c;
    p.seconds = static_cast<double>(grid.steps.time[c]) / 1e9;
    points.push_back(p);
  }
  borders.push_back(points.size());
  for (size_t i = 0; i + 1 < borders.size(); ++i) set_levels(points, borders[i], borders[i + 1]);
  return points;
}

// With few points two slow ones are a third of them and widen any two-sided spread: the lower half,
// which they do not touch, speaks alone (one-sided MAD).
double residual_scale(const std::vector<Point>& points) {
  constexpr size_t kFew = 20;
  std::vector<double> sizes;
  for (const Point& p : points)
    if (points.size() >= kFew || p.residual <= 0) sizes.push_back(std::abs(p.residual));
  return std::max(0.01, 1.4826 * median(std::move(sizes)));
}

// Upper normal quantile for a chance of 1 % in n values (tail approximation; exact enough for a
// threshold).
double chance_z(size_t n) {
  const double tail = 0.01 / static_cast<double>(std::max<size_t>(1, n));
  double z = 2;
  for (int i = 0; i < 60 && 0.5 * std::erfc(z / std::sqrt(2.0)) > tail; ++i) z += 0.1;
  return z;
}

struct Regular {
  Lattice lattice;
  std::vector<size_t>
      members;      // indexes into points: slow steps on it, with the slow steps right behind
  double cost = 0;  // seconds over the usual, per step of the whole series
};

// First steps of slow stretches; a stretch counts once.
std::vector<size_t> run_starts(const std::vector<size_t>& slow) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < slow.size(); ++i)
    if (i == 0 || slow[i] != slow[i - 1] + 1) starts.push_back(slow[i]);
  return starts;
}

std::optional<Regular> next_regular(const StepGrid& grid, const std::vector<Point>& points,
                                    const std::vector<size_t>& slow) {
  std::vector<int32_t> all, marked;
  for (const Point& p : points) all.push_back(grid.steps.step[p.column]);
  const std::vector<size_t> starts = run_starts(slow);
  for (const size_t i : starts) marked.push_back(all[i]);
  const auto lattice = find_lattice(all, marked);
  if (!lattice) return std::nullopt;
  Regular r;
  r.lattice = *lattice;
  bool inside = false;
  for (size_t k = 0; k < slow.size(); ++k) {
    const int32_t step = all[slow[k]];
    const bool on = ((step - lattice->phase) % lattice->period) == 0;
    inside = on || (inside && k > 0 && slow[k] == slow[k - 1] + 1);
    if (!inside) continue;
    r.members.push_back(slow[k]);
    r.cost += points[slow[k]].excess();
  }
  r.cost /= static_cast<double>(points.size());
  return r;
}

void fill_periodic(const StepGrid& grid, const std::vector<Point>& points, const Regular& regular,
                   Pattern& pattern) {
  const JobSteps& steps = grid.steps;
  pattern.kind = PatternKind::periodic;
  pattern.period_steps = regular.lattice.period;
  pattern.period_phase = regular.lattice.phase;
  pattern.cost_s_per_step = regular.cost;
  std::vector<double> ratio, between;
  for (size_t k = 0; k < regular.members.size(); ++k) {
    const Point& p = points[regular.members[k]];
    if (p.level > 0) ratio.push_back(p.seconds / p.level);
    if (k == 0) continue;
    const Point& before = points[regular.members[k - 1]];
    if (steps.step[p.column] - steps.step[before.column] == regular.lattice.period &&
        steps.start[p.column] != kNoTime && steps.start[before.column] != kNoTime)
      between.push_back(
          static_cast<double>(sat_sub(steps.start[p.column], steps.start[before.column])) / 1e9);
  }
  pattern.period_ratio = mean(ratio);
  double seconds = 0;
  for (const Point& p : points) seconds += p.seconds;
  pattern.period_s = between.empty()
                         ? seconds / static_cast<double>(points.size()) * regular.lattice.period
                         : median(between);
}

// Every second or third step slow: the usual time is that of the fastest phase.
bool fill_dense(const StepGrid& grid, const std::vector<Point>& points, Pattern& pattern) {
  std::vector<int32_t> step;
  std::vector<double> logs;
  for (const Point& p : points) {
    step.push_back(grid.steps.step[p.column]);
    logs.push_back(p.residual);
  }
  const auto period = find_dense_period(step, logs);
  if (!period) return false;
  std::vector<double> slow, others;
  double total = 0;
  for (const Point& p : points) {
    const bool on = (grid.steps.step[p.column] - period->phase) % period->period == 0;
    (on ? slow : others).push_back(p.seconds);
    total += p.seconds;
  }
  const double usual = median(others), mean_s = total / static_cast<double>(points.size());
  const double cost = mean_s - usual;
  if (cost < kMinimumCost * usual) return false;
  pattern.kind = PatternKind::periodic;
  pattern.period_steps = period->period;
  pattern.period_phase = period->phase;
  pattern.period_s = mean_s * period->period;
  pattern.period_ratio = median(slow) / usual;
  pattern.cost_s_per_step = cost;
  return true;
}

// Slow stretches that return by the clock rather than by the step count. Stretches long enough to
// have a level of their own count as one each.
bool fill_rhythm(const StepGrid& grid, const std::vector<Point>& points,
                 const std::vector<size_t>& slow, const Changes& changes,
                 const std::vector<size_t>& steady, Pattern& pattern) {
  const std::vector<Ns>& start = grid.steps.start;
  const bool known = std::none_of(points.begin(), points.end(),
                                  [&](const Point& p) { return start[p.column] == kNoTime; });
  std::vector<double> at(grid.columns(), 0);
  double elapsed = 0, usual = 0;
  for (const Point& p : points) {
    at[p.column] =
        known ? static_cast<double>(sat_sub(start[p.column], start[points[0].column])) / 1e9
              : elapsed;
    elapsed += p.seconds;
  }
  std::vector<double> times, ratio;
  double cost = 0;
  for (const size_t i : run_starts(slow)) times.push_back(at[points[i].column]);
  for (const size_t i : slow)
    cost += points[i].excess(), ratio.push_back(std::exp(points[i].residual));
  for (const Stretch& s : past_episodes(changes)) {
    // Against the level behind it.
    const auto next = std::find_if(changes.stretches.begin(), changes.stretches.end(),
                                   [&](const Stretch& other) { return other.first == s.last + 1; });
    if (next == changes.stretches.end()) continue;
    times.push_back(at[steady[s.first]]);
    cost += (s.level - next->level) * static_cast<double>(s.size());
    ratio.insert(ratio.end(), s.size(), s.level / next->level);
  }
  for (const Point& p : points) usual += p.level;
  std::sort(times.begin(), times.end());
  const auto rhythm = find_rhythm(times);
  if (!rhythm || cost < kMinimumCost * usual) return false;
  pattern.kind = PatternKind::periodic;
  pattern.period_s = rhythm->period;
  pattern.period_ratio = mean(ratio);
  pattern.cost_s_per_step = cost / static_cast<double>(points.size());
  return true;
}

// The phase that grew most against the usual of its neighbours.
Phase grown_phase(const StepGrid& grid, size_t c) {
  const JobSteps& steps = grid.steps;
  if (!grid.has_phases) return Phase::unexplained;
  const size_t lo = c > 10 ? c - 10 : 0, hi = std::min(steps.size(), c + 11);
  Phase grown = Phase::unexplained;
  double most = 0;
  for (size_t p = 0; p < kPhases; ++p) {
    std::vector<double> values;
    for (size_t i = lo; i < hi; ++i)
      if (i != c && steps.segment[i] == SegmentKind::steady)
        values.push_back(static_cast<double>(steps.ledger[p][i]));
    const double growth = static_cast<double>(steps.ledger[p][c]) - median(std::move(values));
    if (growth > most) most = growth, grown = static_cast<Phase>(p);
  }
  return grown;
}

// The rank that was slow by itself in this step; -1 when all were, or nobody can tell.
int32_t slow_rank(const StepGrid& grid, size_t c) {
  std::vector<double> own;
  for (size_t r = 0; r < grid.ranks.ranks.size(); ++r)
    if (const Ns t = grid.ranks.own_time[r * grid.columns() + c]; t >= 0)
      own.push_back(static_cast<double>(t));
  if (own.size() < 2) return -1;
  std::sort(own.begin(), own.end());
  const double usual = median({own.begin(), own.end() - 1});
  if (own.back() < kOutlierRatio * usual || own[own.size() - 2] >= kOutlierRatio * usual) return -1;
  for (size_t r = 0; r < grid.ranks.ranks.size(); ++r)
    if (static_cast<double>(grid.ranks.own_time[r * grid.columns() + c]) == own.back())
      return grid.ranks.ranks[r];
  return -1;
}

}  // namespace

Regularity find_regularity(StepGrid& grid, const std::vector<size_t>& steady,
                           const Changes& changes) {
  Regularity out;
  const std::vector<Point> points = points_of(grid, steady, changes);
  if (points.size() < 4) return out;
  const double scale = residual_scale(points);
  double usual = 0;
  for (const Point& p : points) usual += p.level / static_cast<double>(points.size());
  std::vector<size_t> slow;
  for (size_t i = 0; i < points.size(); ++i)
    if (points[i].residual >= std::max(std::log(kMinimumEffect), kOutlierZ * scale))
      slow.push_back(i);
  constexpr int kMostLattices = 8;  // of several regular works in one job
  std::optional<Regular> dearest;
  std::vector<size_t> rest = slow;
  for (int i = 0; i < kMostLattices; ++i) {
    auto regular = next_regular(grid, points, rest);
    if (!regular) break;
    std::vector<size_t> left;
    std::set_difference(rest.begin(), rest.end(), regular->members.begin(), regular->members.end(),
                        std::back_inserter(left));
    rest = std::move(left);
    if (!dearest || regular->cost > dearest->cost) dearest = std::move(regular);
  }
  if (dearest && dearest->cost >= kMinimumCost * usual) {
    fill_periodic(grid, points, *dearest, out.pattern);
  } else if (fill_dense(grid, points, out.pattern) ||
             fill_rhythm(grid, points, rest, changes, steady, out.pattern)) {
    rest.clear();
  }
  const double enough =
      std::max(std::log(kOutlierRatio), std::max(kOutlierZ, chance_z(points.size())) * scale);
  double cost = 0;
  for (const size_t i : rest) {
    const Point& p = points[i];
    if (p.residual < enough || grid.steps.segment[p.column] != SegmentKind::steady) continue;
    Outlier o;
    o.step = grid.steps.step[p.column];
    o.rank = slow_rank(grid, p.column);
    o.seconds = p.seconds;
    o.ratio = p.seconds / p.level;
    o.phase = grown_phase(grid, p.column);
    cost += p.excess() / static_cast<double>(points.size());
    grid.steps.outlier[p.column] = 1;
    out.outliers.push_back(o);
  }
  constexpr size_t kRecurring = 3;  // twice may be two accidents
  if (out.pattern.kind == PatternKind::none && !out.outliers.empty() &&
      (out.outliers.size() >= kRecurring || cost >= kMinimumCost * usual)) {
    out.pattern.kind = PatternKind::intermittent;
    out.pattern.cost_s_per_step = cost;
  }
  return out;
}

}  // namespace firstwait
