// Weights: the replay with only this stage's own durations explains most of the slowdown
// (add-back), and so does the replay without them where it was made (removal, the last stage); all
// data-parallel ranks of the stage are alike, which one slow worker is not.
#include <fmt/core.h>

#include <algorithm>

#include "explain/placing.h"
#include "explain/replay_view.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::p2p, Phase::collective, Phase::forward,
                                      Phase::backward};
constexpr std::string_view kNeeds[] = {"op records of all pipeline stages"};
constexpr Threshold kThresholds[] = {kStraggling, kMostOfIt, kReplayError, kPeerSpread};

// The fastest worker of a stage over the median of the other stages: above 1 when all of the stage
// are slower.
double stage_ratio(const WhatIf& r, int32_t stage) {
  double fastest = kNaN;
  std::vector<double> others;
  for (const auto& w : r.workers) {
    if (w.stage != stage) {
      others.push_back(w.compute_s);
    } else if (!(fastest <= w.compute_s)) {
      fastest = w.compute_s;
    }
  }
  const double usual = median_of(std::move(others));
  return usual > 0 ? fastest / usual : kNaN;
}

Verdict test(const View& view) {
  const WhatIf* r = believable_replay(view);
  if (r == nullptr) return untested({kNeeds[0]});
  Weighing w;
  if (r->by_stage.size() < 2) {
    w.contradicts(kVeryStrong, "the job has one pipeline stage",
                  fact("pipeline stages", "what_if.by_stage", "",
                       static_cast<double>(r->by_stage.size()), "", false));
    return std::move(w).verdict("", {});
  }
  if (r->slowdown < kStraggling.value) {
    w.contradicts(
        kVeryStrong,
        fmt::format("without stragglers the step would be {} shorter",
                    percent(1 - 1 / r->slowdown)),
        fact("straggler-free slowdown", "what_if.slowdown", "", r->slowdown, "ratio", false));
    return std::move(w).verdict("", {});
  }
  const auto largest = std::max_element(r->by_stage.begin(), r->by_stage.end());
  const auto stage = static_cast<size_t>(largest - r->by_stage.begin());
  const bool last = stage + 1 == r->by_stage.size();
  const std::string entity = fmt::format("stage/{}", stage);
  const double addback = (*largest - 1) / (r->slowdown - 1);
  const double removal = last ? r->stage_share_removal : kNaN;
  const double ratio = stage_ratio(*r, static_cast<int32_t>(stage));
  const EvidenceRow share = fact("slowdown with only this stage's own durations",
                                 "what_if.by_stage", entity, *largest, "ratio", true);
  if (addback < kMostOfIt.value || removal < kMostOfIt.value) {
    w.contradicts(kStrong,
                  fmt::format("stage {} alone accounts for {} of the lost time", stage,
                              percent(std::max(0.0, removal < addback ? removal : addback))),
                  share);
    return std::move(w).verdict("", {});
  }
  if (ratio < 1 + kPeerSpread.value) {
    w.contradicts(kStrong,
                  fmt::format("the fastest worker of stage {} computes {} as long as the other "
                              "stages: not the stage, but part of it",
                              stage, times(ratio)),
                  fact("its fastest worker against the other stages", "op.compute", entity, ratio,
                       "ratio", false));
    return std::move(w).verdict("", {});
  }
  w.supports(kPositive, share);
  if (removal >= kMostOfIt.value)
    w.hints(kPositive, fact("lost time given back when it is as fast as the others",
                            "what_if.stage_share_removal", entity, removal, "ratio", true));
  if (ratio > 0)
    w.hints(kPositive, fact("its fastest worker against the other stages", "op.compute", entity,
                            ratio, "ratio", true));
  w.where(entity);
  std::vector<int32_t> ranks;
  for (const auto& worker : r->workers)
    if (worker.stage == static_cast<int32_t>(stage)) ranks.push_back(worker.rank);
  std::sort(ranks.begin(), ranks.end());
  for (size_t i = 0; i < ranks.size() && i < 8; ++i) w.where(fmt::format("rank/{}", ranks[i]));
  w.link("The other stages wait for one stage", entity, times(*largest));
  Verdict v = std::move(w).verdict(
      fmt::format("stage {} computes {} as long as the others on all {} data-parallel ranks", stage,
                  times(ratio), r->by_dp_rank.size()),
      {});
  set_replay_effect(v, *r, removal == removal ? removal : addback, addback);
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_sync_stage_imbalance{
    .id = "sync.stage_imbalance",
    .claim = "a pipeline stage has more work than the others",
    .decides = "the stage's share in the replay, with all its workers alike",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 2,
    .prior = 0,
    .test = test};

}  // namespace firstwait
