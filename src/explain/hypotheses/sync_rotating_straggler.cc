// Weights: many late steps that cost a relevant part of the time, spread over several ranks with
// none responsible for most. Of noisy ranks one is always the slowest, so a late step needs a
// stall: a rank beyond what the ranks differ by from step to step.
#include <fmt/core.h>

#include <algorithm>

#include "explain/late_steps.h"
#include "explain/weigh.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::collective, Phase::p2p};
constexpr std::string_view kNeeds[] = {
    "own time of at least two ranks, step by step",
    "step phases or collectives of each rank: their steps last equally long"};
constexpr Threshold kThresholds[] = {kRelevantShare, kLateStep, kTurns, kCounted, kStall};

Verdict test(const View& view) {
  // Own time says nothing of who is late where stages wait for each other.
  if (const auto& r = view.attribution.what_if; r && r->by_stage.size() > 1)
    return untested({"per-step replay of single workers"});
  const LateSteps l = late_steps(view);
  if (l.steps == 0) return untested({kNeeds[0]});
  Weighing w;
  const double cost = l.cost();
  // Ranks whose whole steps are told and last equally long wait for each other within them.
  if (!l.matter() && view.attribution.level == EvidenceLevel::steps && l.spread <= kJitter &&
      !view.attribution.outliers.empty())
    return untested({kNeeds[1]});
  if (!l.matter()) {
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
  const double top = l.share_of_latest();
  const EvidenceRow turns = fact("late steps of the rank that is late most often", "rank.own_time",
                                 fmt::format("rank/{}", l.latest()), top, "ratio", true);
  const size_t ranks = view.attribution.ranks.ranks.size();
  if (l.one_rank(ranks) || l.by_rank.size() < std::min<size_t>(ranks, 3)) {
    w.contradicts(
        kStrong,
        fmt::format("rank {} is the late one in {} of the late steps", l.latest(), percent(top)),
        turns);
    return std::move(w).verdict("", {});
  }
  w.supports(l.tailed ? kWeak : kPositive,
             fact("time lost to late ranks", "rank.own_time", "", cost, "ratio", true));
  w.hints(l.tailed                                               ? 0
          : ranks > 2 && top <= 2.0 / static_cast<double>(ranks) ? kPositive
                                                                 : kWeak,
          turns);
  if (l.wait_for_input())
    w.link("Its loader stalls", "", percent(l.input_s / l.lost_s) + " of it is input wait");
  w.link("The late rank changes", fmt::format("{} ranks in turn", l.by_rank.size()), percent(cost));
  Verdict v = std::move(w).verdict(
      fmt::format("{} of {} steps wait for one rank, each time another: {} ranks in turn", l.late,
                  l.steps, l.by_rank.size()),
      {});
  if (v.outcome == Outcome::supported) {
    const double each = l.lost_s / static_cast<double>(l.steps);
    v.effect = Effect{each, {kNaN, each}};
    v.since = l.since;
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
