#include <fmt/format.h>

#include "explain/hypothesis.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::forward, Phase::backward, Phase::optimizer};
constexpr std::string_view kNeeds[] = {"step phases, or a profiler trace"};

Verdict test(const View& view) {
  Verdict v;
  const double productive = view.attribution.productive_fraction;
  if (!(productive >= 0)) {
    v.needs.assign(std::begin(kNeeds), std::end(kNeeds));
    return v;
  }
  v.evidence.push_back({"computing", "productive_fraction", "", std::nullopt, productive, "ratio", productive > 0.9});
  v.outcome = Outcome::refuted;
  v.reason = fmt::format("only {:.0f} % of the step computes", 100 * productive);
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_healthy_compute_bound{
    .id = "healthy.compute_bound",
    .claim = "the GPUs compute; nothing waits",
    .decides = "the ledger is dominated by compute and has no excess",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = {},
    .checklist_step = 1,
    .prior = 0,
    .test = test};

}  // namespace firstwait
