// Weights: many late steps (one rank far above the median of the ranks in that step) that cost a
// relevant part of the time, spread over several ranks with none responsible for most.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/stats.h"
#include "explain/late_groups.h"
#include "explain/placing.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::collective, Phase::p2p};
constexpr std::string_view kNeeds[] = {"own time of at least three ranks, step by step"};
constexpr Threshold kLate{"own time against the median rank", 1.1, "ratio",
                          "arXiv 2505.05713: slower by a tenth is straggling"};
constexpr Threshold kTurns{"late steps of one rank", 0.5, "ratio",
                           "more than half would be one persistent straggler"};
constexpr Threshold kOutlier{"robust z within the step", 3.5, "",
                             "Iglewicz and Hoaglin 1993: modified z-scores above 3.5 are outliers"};
constexpr Threshold kThresholds[] = {kRelevantShare, kLate, kTurns, kCounted, kOutlier};
// With fewer values a deviation from their own median absolute deviation says nothing.
constexpr size_t kEnoughPeers = 5;

struct LateSteps {
  std::map<int32_t, size_t> by_rank;
  size_t late = 0, steps = 0;
  double lost_s = 0, time_s = 0;
};

bool lasting(const std::vector<LateGroup>& groups, int32_t rank, int32_t step) {
  return std::any_of(groups.begin(), groups.end(), [&](const LateGroup& g) {
    return step >= g.first_step && step <= g.last_step &&
           std::find(g.ranks.begin(), g.ranks.end(), rank) != g.ranks.end();
  });
}

LateSteps late_steps(const View& view) {
  LateSteps out;
  const std::vector<LateGroup> groups = persistent_groups(view);
  const auto& a = view.attribution;
  const auto& m = a.ranks;
  if (m.own_time.size() != m.ranks.size() * m.steps || a.steps.size() != m.steps) return out;
  std::vector<double> own;
  for (size_t s = 0; s < m.steps; ++s) {
    if (a.steps.segment[s] != SegmentKind::steady) continue;
    own.clear();
    double most = 0;
    int32_t who = -1;
    for (size_t r = 0; r < m.ranks.size(); ++r) {
      const Ns value = m.at(m.own_time, r, s);
      if (value < 0) continue;
      own.push_back(static_cast<double>(value) * 1e-9);
      if (own.back() > most) {
        most = own.back();
        who = m.ranks[r];
      }
    }
    if (own.size() < 3) continue;
    ++out.steps;
    out.time_s += static_cast<double>(a.steps.time[s]) * 1e-9;
    const double usual = median_of(own);
    if (!(usual > 0) || most < kLate.value * usual) continue;
    // Among noisy ranks one is always the slowest: it must stand out from the spread of that step.
    if (own.size() >= kEnoughPeers && robust(own).z(most) < kOutlier.value) continue;
    // A rank that is late for a long while is a straggler of its own.
    if (lasting(groups, who, a.steps.step[s])) continue;
    ++out.late;
    ++out.by_rank[who];
    out.lost_s += most - usual;
  }
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
  if (cost < kRelevantShare.value || static_cast<double>(l.late) < kCounted.value) {
    w.contradicts(kStrong,
                  fmt::format("late ranks cost {} of the time, in {} of {} steps", percent(cost),
                              l.late, l.steps),
                  fact("time lost to late ranks", "rank.own_time", "", cost, "ratio", false));
    return std::move(w).verdict("", {});
  }
  const auto most =
      std::max_element(l.by_rank.begin(), l.by_rank.end(),
                       [](const auto& x, const auto& y) { return x.second < y.second; });
  const double top = static_cast<double>(most->second) / static_cast<double>(l.late);
  const EvidenceRow turns = fact("late steps of the rank that is late most often", "rank.own_time",
                                 fmt::format("rank/{}", most->first), top, "ratio", true);
  if (top > kTurns.value || l.by_rank.size() < 3) {
    w.contradicts(
        kStrong,
        fmt::format("rank {} is the late one in {} of the late steps", most->first, percent(top)),
        turns);
    return std::move(w).verdict("", {});
  }
  w.supports(kPositive, fact("time lost to late ranks", "rank.own_time", "", cost, "ratio", true));
  w.hints(top <= 2.0 / static_cast<double>(view.attribution.ranks.ranks.size()) ? kPositive : kWeak,
          turns);
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
