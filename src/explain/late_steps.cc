#include "explain/late_steps.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "attribute/thresholds.h"
#include "base/stats.h"
#include "explain/late_groups.h"
#include "explain/workload_signals.h"

namespace firstwait {
namespace {

// Half of the z of a stall, and the share of a normal distribution between the two.
constexpr double kNearly = 1.75, kNearlyByChance = 0.0399;

// Steps among which the others' usual time is looked for: slow ones of a period stay few.
constexpr size_t kAround = 21;

// One rank in one step.
struct Own {
  size_t column;
  int32_t rank;
  double seconds, others, log_ratio;
};

// The power of ten on which own times lie ("times in tenths of a second"), in seconds: below it
// nothing is resolved. A few that come from elsewhere do not count.
double resolution(const std::vector<Own>& all) {
  for (int64_t unit = 1'000'000'000; unit > 1; unit /= 10) {
    const auto on_it = std::count_if(all.begin(), all.end(), [unit](const Own& o) {
      return std::llround(o.seconds * 1e9) % unit == 0;
    });
    if (10 * on_it >= 9 * static_cast<ptrdiff_t>(all.size()))
      return static_cast<double>(unit) * 1e-9;
  }
  return 0;
}

bool lasting(const std::vector<LateGroup>& groups, int32_t rank, int32_t step) {
  return std::any_of(groups.begin(), groups.end(), [&](const LateGroup& g) {
    return step >= g.first_step && step <= g.last_step &&
           std::find(g.ranks.begin(), g.ranks.end(), rank) != g.ranks.end();
  });
}

// Own times of the steady steps, each against the median of the others in its step and against what
// its rank usually takes of that.
std::vector<Own> own_times(const View& view) {
  std::vector<Own> out;
  const auto& a = view.attribution;
  const auto& m = a.ranks;
  if (m.own_time.size() != m.ranks.size() * m.steps || a.steps.size() != m.steps) return out;
  std::map<int32_t, std::vector<double>> of_rank;
  for (size_t s = 0; s < m.steps; ++s) {
    if (a.steps.segment[s] != SegmentKind::steady) continue;
    std::vector<double> own;
    for (size_t r = 0; r < m.ranks.size(); ++r)
      if (const Ns value = m.at(m.own_time, r, s); value >= 0)
        own.push_back(static_cast<double>(value) * 1e-9);
    if (own.size() < 2) continue;
    const WithoutOne sample(std::move(own));
    for (size_t r = 0; r < m.ranks.size(); ++r) {
      const Ns value = m.at(m.own_time, r, s);
      if (value <= 0) continue;
      const double seconds = static_cast<double>(value) * 1e-9,
                   others = sample.without(seconds).median;
      if (!(others > 0)) continue;
      out.push_back({s, m.ranks[r], seconds, others, std::log(seconds / others)});
      of_rank[m.ranks[r]].push_back(out.back().log_ratio);
    }
  }
  std::map<int32_t, double> usual;
  for (auto& [rank, ratios] : of_rank) usual[rank] = median(std::move(ratios));
  for (Own& o : out) o.log_ratio -= usual[o.rank];
  return out;
}

double spread_of(const std::vector<Own>& all) {
  std::vector<double> ratios;
  for (const Own& o : all) ratios.push_back(std::abs(o.log_ratio));
  return std::max(1.4826 * median(std::move(ratios)), kJitter);
}

// Where an exponential tail through the upper quantiles, which few stalls do not reach, is expected
// to end: one value in a hundred records lies beyond.
double end_of_tail(const std::vector<Own>& all) {
  constexpr double kOneIn = 100;
  std::vector<double> ratios;
  for (const Own& o : all) ratios.push_back(o.log_ratio);
  const double n = static_cast<double>(ratios.size());
  const double high = quantile(ratios, 0.9), scale = (high - quantile(ratios, 0.8)) / std::log(2);
  return high + scale * std::log(0.1 * n * kOneIn);
}

// What the given (rank, step) waited for input beyond what a step of the job usually does.
double input_wait_of(const View& view, const std::set<std::pair<int32_t, int32_t>>& late) {
  const StepTable& t = view.evidence.steps;
  if (t.phases[index(Phase::input_wait)].empty() || late.empty()) return 0;
  std::vector<double> all, theirs;
  for (size_t row = 0; row < t.size(); ++row) {
    const Ns wait = t.phase(row, Phase::input_wait);
    if (wait < 0) continue;
    all.push_back(static_cast<double>(wait) * 1e-9);
    if (late.contains({t.rank[row], t.step[row]})) theirs.push_back(all.back());
  }
  if (theirs.empty()) return 0;
  const double usual = median(std::move(all));
  double sum = 0;
  for (const double wait : theirs) sum += std::max(0.0, wait - usual);
  return sum;
}

}  // namespace

bool LateSteps::matter() const {
  return cost() >= kRelevantShare.value && static_cast<double>(late) >= kCounted.value;
}

int32_t LateSteps::latest() const {
  return std::max_element(by_rank.begin(), by_rank.end(),
                          [](const auto& x, const auto& y) { return x.second < y.second; })
      ->first;
}

double LateSteps::share_of_latest() const {
  return static_cast<double>(by_rank.at(latest())) / static_cast<double>(late);
}

bool LateSteps::one_rank(size_t ranks) const {
  if (share_of_latest() <= (ranks == 2 ? kTurnsOfTwo : kTurns.value)) return false;
  // Of a few late steps one of few ranks may have most by chance.
  const double n = static_cast<double>(ranks);
  return n * binomial_tail(static_cast<int64_t>(late), static_cast<int64_t>(by_rank.at(latest())),
                           1 / n) <
         kAlpha;
}

LateSteps late_steps(const View& view) {
  LateSteps out;
  const std::vector<LateGroup> groups = persistent_groups(view);
  const auto& a = view.attribution;
  const std::vector<Own> all = own_times(view);
  if (all.empty()) return out;
  out.spread = spread_of(all);
  // Most values may lie in one cell of the grid and still vary: a cell that holds half of a normal
  // distribution is 1.349 standard deviations wide.
  const double least_s = kStall.value * resolution(all) / 1.349;
  size_t stalls = 0, nearly = 0;
  std::vector<const Own*> slowest;  // of each step
  std::vector<double> others;
  for (size_t i = 0, end = 0; i < all.size(); i = end) {
    const Own* most = &all[i];
    for (end = i; end < all.size() && all[end].column == all[i].column; ++end) {
      if (all[end].seconds > most->seconds) most = &all[end];
      const double z = all[end].log_ratio / out.spread;
      stalls += z >= kStall.value ? 1 : 0;
      nearly += z >= kNearly && z < kStall.value ? 1 : 0;
    }
    slowest.push_back(most);
    others.push_back(most->others);
  }
  const std::vector<double> usual = running_median(others, kAround);
  // Stalls stand apart from the noise. A tail that thins out evenly fills the place before them:
  // then only what lies beyond that tail is one.
  const double crowd =
      static_cast<double>(nearly) - kNearlyByChance * static_cast<double>(all.size());
  out.tailed = 2 * crowd > static_cast<double>(stalls);
  const double least = std::max(kStall.value * out.spread, out.tailed ? end_of_tail(all) : 0);
  std::set<std::pair<int32_t, int32_t>> late;
  std::vector<size_t> looked_at, late_at;  // columns
  for (size_t i = 0; i < slowest.size(); ++i) {
    const Own* most = slowest[i];
    looked_at.push_back(most->column);
    out.time_s += static_cast<double>(a.steps.time[most->column]) * 1e-9;
    const double lost = std::max(0.0, most->seconds - most->others);
    out.slowest_s += lost;
    if (most->seconds < kLateStep.value * most->others || most->log_ratio < least ||
        most->seconds - most->others < least_s)
      continue;
    // A step that is slow for all of them waits for no one rank.
    if (most->others >= kLateStep.value * usual[i]) continue;
    // A rank that is late for a long while is a straggler of its own.
    if (lasting(groups, most->rank, a.steps.step[most->column])) continue;
    late_at.push_back(most->column);
    ++out.by_rank[most->rank];
    late.emplace(most->rank, a.steps.step[most->column]);
    out.lost_s += lost;
  }
  out.steps = looked_at.size();
  out.late = late_at.size();
  out.input_s = input_wait_of(view, late);
  if (const auto first = began_at(late_at)) {
    out.since = onset_at(a.steps, *first, late_at[1] - late_at[0]);
    for (const size_t column : looked_at) {
      if (column >= *first) break;
      --out.steps;
      out.time_s -= static_cast<double>(a.steps.time[column]) * 1e-9;
    }
  }
  return out;
}

}  // namespace firstwait
