// Weights: within most workers forward and backward of a microbatch vary together, and they vary
// well above noise. Neither alone is enough: one slow worker correlates a pooled stage to 0.999,
// and noise within one to 0.92.
#include <fmt/core.h>

#include "explain/placing.h"
#include "explain/replay_view.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::p2p, Phase::collective, Phase::forward,
                                      Phase::backward};
constexpr std::string_view kNeeds[] = {"op records with microbatches"};
constexpr Threshold kCorrelation{
    "forward/backward correlation", 0.9, "",
    "arXiv 2505.05713: sequence imbalance from a correlation of 0.9 on"};
constexpr Threshold kVariation{
    "forward variation", 0.1, "ratio",
    "three times the 3 % that its published traces without this cause show within a worker"};
constexpr int64_t kFewest =
    20;  // microbatches for a correlation: its standard error at 0.9 is then 0.04
constexpr Threshold kThresholds[] = {kStraggling, kCorrelation, kVariation};

Verdict test(const View& view) {
  const WhatIf* r = believable_replay(view);
  if (r == nullptr) return untested({kNeeds[0]});
  Weighing w;
  if (r->slowdown < kStraggling.value) {
    w.contradicts(
        kVeryStrong,
        fmt::format("without stragglers the step would be {} shorter",
                    percent(1 - 1 / r->slowdown)),
        fact("straggler-free slowdown", "what_if.slowdown", "", r->slowdown, "ratio", false));
    return std::move(w).verdict("", {});
  }
  std::vector<double> correlations, variations;
  size_t both = 0;
  for (const auto& worker : r->workers) {
    if (worker.microbatches < kFewest || !(worker.forward_variation >= 0)) continue;
    correlations.push_back(worker.correlation);
    variations.push_back(worker.forward_variation);
    if (worker.correlation >= kCorrelation.value && worker.forward_variation >= kVariation.value)
      ++both;
  }
  if (variations.empty()) return untested({kNeeds[0]});
  const double share = static_cast<double>(both) / static_cast<double>(variations.size());
  const double correlation = median_of(correlations), variation = median_of(variations);
  const EvidenceRow vary = fact("variation of forward within a worker", "op.forward-compute", "",
                                variation, "ratio", true);
  const EvidenceRow together = fact("correlation of forward and backward within a worker",
                                    "op.compute", "", correlation, "", true);
  if (share <= 0.5) {
    if (variation < kVariation.value) {
      w.contradicts(kStrong,
                    fmt::format("forward varies by {} within a worker", percent(variation)), vary);
    } else {
      w.contradicts(
          kStrong,
          fmt::format("forward and backward vary by themselves: correlation {:.2f}", correlation),
          together);
    }
    return std::move(w).verdict("", {});
  }
  w.supports(kPositive, vary);
  w.hints(kPositive, together);
  w.link("Microbatches differ in length", "every worker", percent(variation));
  Verdict v = std::move(w).verdict(
      fmt::format(
          "forward varies by {} between microbatches and backward with it, in {} of the workers",
          percent(variation), percent(share)),
      {});
  if (v.outcome == Outcome::supported) {
    const double most = r->nodelay_s - r->ideal_s;
    v.effect = Effect{most, {kNaN, most}};
  }
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_sync_sequence_imbalance{
    .id = "sync.sequence_imbalance",
    .claim = "microbatches hold different numbers of tokens",
    .decides = "forward and backward vary together within a worker, well above noise",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 1,
    .prior = 0,
    .test = test};

}  // namespace firstwait
