// Weights: many late steps that cost a relevant part of the time, spread over several ranks with
// none responsible for most. Of noisy ranks one is always the slowest, so a late step needs a
// stall: a rank beyond what the ranks differ by from step to step.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/stats.h"
#include "explain/late_groups.h"
#include "explain/placing.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::collective, Phase::p2p};
constexpr std::string_view kNeeds[] = {"own time of at least two ranks, step by step"};
constexpr Threshold kLate{"own time against the median of the others", 1.1, "ratio",
                          "arXiv 2505.05713: slower by a tenth is straggling"};
constexpr Threshold kTurns{"late steps of one rank", 0.5, "ratio",
                           "more than half would be one persistent straggler"};
constexpr Threshold kOutlier{"robust z of a stall among all own times", 3.5, "",
                             "Iglewicz and Hoaglin 1993: modified z-scores above 3.5 are outliers"};
constexpr Threshold kThresholds[] = {kRelevantShare, kLate, kTurns, kCounted, kOutlier};
// Two ranks share the late steps evenly when they take turns: one of them is the persistent one
// only with three quarters, as far from even as half is with four ranks.
constexpr double kTurnsOfTwo = 0.75;
// Half of the z of a stall, and the share of a normal distribution between the two.
constexpr double kNearly = 1.75, kNearlyByChance = 0.0399;

struct LateSteps {
  std::map<int32_t, size_t> by_rank;
  size_t late = 0, steps = 0;
  double lost_s = 0, time_s = 0;
  double spread = kNaN;  // robust standard deviation of ln(own time / the others')
  double slowest_s = 0;  // lost to the slowest rank of every step, be it late or not
  bool tailed = false;   // long tails without a gap: noise, not stalls
};

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
  // Below one per cent differences are jitter, whatever the spread.
  return std::max(1.4826 * median(std::move(ratios)), 0.01);
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
  const double least_s = kOutlier.value * resolution(all) / 1.349;
  size_t stalls = 0, nearly = 0;
  for (size_t i = 0, end = 0; i < all.size(); i = end) {
    const Own* most = &all[i];
    for (end = i; end < all.size() && all[end].column == all[i].column; ++end) {
      if (all[end].seconds > most->seconds) most = &all[end];
      const double z = all[end].log_ratio / out.spread;
      stalls += z >= kOutlier.value ? 1 : 0;
      nearly += z >= kNearly && z < kOutlier.value ? 1 : 0;
    }
    ++out.steps;
    out.time_s += static_cast<double>(a.steps.time[most->column]) * 1e-9;
    const double lost = std::max(0.0, most->seconds - most->others);
    out.slowest_s += lost;
    if (most->seconds < kLate.value * most->others ||
        most->log_ratio < kOutlier.value * out.spread || most->seconds - most->others < least_s)
      continue;
    // A rank that is late for a long while is a straggler of its own.
    if (lasting(groups, most->rank, a.steps.step[most->column])) continue;
    ++out.late;
    ++out.by_rank[most->rank];
    out.lost_s += lost;
  }
  // Stalls stand apart from the noise. A tail that thins out evenly fills the place before them.
  const double crowd =
      static_cast<double>(nearly) - kNearlyByChance * static_cast<double>(all.size());
  out.tailed = 2 * crowd > static_cast<double>(stalls);
  return out;
}

Verdict test(const View& view) {
  // Own time says nothing of who is late where stages wait for each other.
  if (const auto& r = view.attribution.what_if; r && r->by_stage.size() > 1)
    return untested({"per-step replay of single workers"});
  const LateSteps l = late_steps(view);
  if (l.steps == 0) return untested({kNeeds[0]});
  Weighing w;
  const double cost = l.time_s > 0 ? l.lost_s / l.time_s : 0;
  const bool rare = cost < kRelevantShare.value || static_cast<double>(l.late) < kCounted.value;
  if (rare || l.tailed) {
    const double slowest = l.time_s > 0 ? l.slowest_s / l.time_s : 0;
    // What a barrier over noisy ranks costs is no one's fault, but it is not nothing.
    const std::string reason =
        slowest >= kRelevantShare.value
            ? fmt::format(
                  "the ranks differ at random by {} from step to step, and waiting for the "
                  "slowest costs {} of the time; none of them stalls",
                  percent(l.spread), percent(slowest))
            : fmt::format("late ranks cost {} of the time, in {} of {} steps", percent(cost),
                          l.late, l.steps);
    w.contradicts(kStrong, reason,
                  fact("time lost to late ranks", "rank.own_time", "", cost, "ratio", false));
    return std::move(w).verdict("", {});
  }
  const auto most =
      std::max_element(l.by_rank.begin(), l.by_rank.end(),
                       [](const auto& x, const auto& y) { return x.second < y.second; });
  const double top = static_cast<double>(most->second) / static_cast<double>(l.late);
  const EvidenceRow turns = fact("late steps of the rank that is late most often", "rank.own_time",
                                 fmt::format("rank/{}", most->first), top, "ratio", true);
  const size_t ranks = view.attribution.ranks.ranks.size();
  if (top > (ranks == 2 ? kTurnsOfTwo : kTurns.value) ||
      l.by_rank.size() < std::min<size_t>(ranks, 3)) {
    w.contradicts(
        kStrong,
        fmt::format("rank {} is the late one in {} of the late steps", most->first, percent(top)),
        turns);
    return std::move(w).verdict("", {});
  }
  w.supports(kPositive, fact("time lost to late ranks", "rank.own_time", "", cost, "ratio", true));
  w.hints(ranks > 2 && top <= 2.0 / static_cast<double>(ranks) ? kPositive : kWeak, turns);
  w.link("The late rank changes", fmt::format("{} ranks in turn", l.by_rank.size()), percent(cost));
  Verdict v = std::move(w).verdict(
      fmt::format("{} of {} steps wait for one rank, each time another: {} ranks in turn", l.late,
                  l.steps, l.by_rank.size()),
      {});
  if (v.outcome == Outcome::supported) {
    const double each = l.lost_s / static_cast<double>(l.steps);
    v.effect = Effect{each, {kNaN, each}};
  }
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_sync_rotating_straggler{
    .id = "sync.rotating_straggler",
    .claim = "each step waits for one late rank, and the late rank changes",
    .decides = "the identity of the last to arrive",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 2,
    .prior = 0,
    .test = test};

}  // namespace firstwait
