#include <fmt/core.h>

#include "explain/workload_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::logging};
constexpr std::string_view kNeeds[] = {"step phases with logging"};
constexpr Threshold kThresholds[] = {kRelevantShare};

Verdict test(const View& view) {
  Weighing w;
  const auto run = phase_run(view, Phase::logging);
  const Stake s = stake(view, kPhasesExplained);
  if (run.per_step_s <= 0 && s.state == Stake::State::unknown)
    return untested({"step phases with logging"});
  if (run.share < kRelevantShare.value && s.state != Stake::State::present) {
    w.contradicts(
        kStrong,
        fmt::format("{} is {} of the run", phase_words(Phase::logging), percent(run.share)),
        fact("writing logs", "ledger.logging", "", run.per_step_s, "s/step", false));
    return std::move(w).verdict("", {});
  }
  if (run.share_before == run.share_before &&
      run.share_now < run.share_before + kRelevantShare.value) {
    w.contradicts(kStrong,
                  fmt::format("{} did not grow: {} → {} of the time", phase_words(Phase::logging),
                              percent(run.share_before), percent(run.share_now)),
                  fact("writing logs", "ledger.logging", "", run.share_now, "ratio", false,
                       run.share_before));
    return std::move(w).verdict("", {});
  }
  w.supports(kStrong + 0.5,
             fact("writing logs", "ledger.logging", "", run.per_step_s, "s/step", true));
  if (const auto* logging = ledger_row(view, Phase::logging))
    for (const int32_t rank : logging->ranks) w.where("rank/" + std::to_string(rank));
  w.link("The training thread writes logs",
         run.when.empty() ? "" : fmt::format("in {} of {} steps", run.when.size(), run.steps),
         percent(run.share) + " of the time");
  auto v = std::move(w).verdict(
      fmt::format("writing logs holds the training thread {} of the time", percent(run.share)), {});
  if (v.outcome == Outcome::supported) v.effect = Effect{run.per_step_s, {kNaN, run.per_step_s}};
  if (run.per_step_s > 0) v.since = run.since;
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_workload_logging_stall{
    .id = "workload.logging_stall",
    .claim = "logging holds the training thread",
    .decides = "logging spans and what they take",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 1,
    .prior = 0,
    .test = test};

}  // namespace firstwait
