#include <fmt/core.h>

#include "explain/workload_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::checkpoint, Phase::unexplained};
constexpr std::string_view kNeeds[] = {"checkpoint events", "step phases with checkpoint"};
constexpr Threshold kMatched{"slow steps with a save", 0.5, "ratio",
                             "the majority of the slow steps"};
constexpr Threshold kThresholds[] = {kRelevantShare, kSlowRatio, kMatched};

void weigh_phase(Weighing& w, const PhaseRun& run) {
  auto e = fact("saving holds the training thread", "ledger.checkpoint", "", run.per_step_s,
                "s/step", true);
  if (run.share < kRelevantShare.value) {
    w.contradicts(kStrong, fmt::format("saving is {} of the time", percent(run.share)),
                  std::move(e));
  } else if (throughout(run)) {
    w.supports(kPositive, std::move(e));
  } else if (run.share_before == run.share_before &&
             run.share_now < run.share_before + kRelevantShare.value) {
    w.contradicts(kStrong,
                  fmt::format("saving did not grow: {} → {} of the time", percent(run.share_before),
                              percent(run.share_now)),
                  std::move(e));
  } else {
    w.supports(kStrong + 0.5, std::move(e));
  }
}

void weigh_events(Weighing& w, const EventMatch& m) {
  if (!(m.ratio == m.ratio) || m.others < m.steps.size())
    return;  // saves in most steps: nothing to compare with
  auto e =
      fact("steps with a save against the others", "event.checkpoint", "", m.ratio, "ratio", true);
  if (m.ratio < kSlowRatio.value) {
    w.contradicts(kStrong, fmt::format("steps with a save take {} of the others", times(m.ratio)),
                  std::move(e));
    return;
  }
  // One save could be chance; three that all stall are not.
  w.supports(m.steps.size() >= 3 ? kStrong + 0.5 : kWeak, std::move(e));
  if (m.slow > 0) {
    const double share = static_cast<double>(m.slow_matched) / static_cast<double>(m.slow);
    auto s = fact("slow steps in which a save happens", "event.checkpoint", "", share, "ratio",
                  share >= kMatched.value);
    if (share >= kMatched.value)
      w.hints(kWeak, std::move(s));
    else
      w.contradicts(kWeak,
                    fmt::format("a save happens in {} of {} slow steps", m.slow_matched, m.slow),
                    std::move(s));
  }
}

Verdict test(const View& view) {
  Weighing w;
  const auto run = phase_run(view, Phase::checkpoint);
  const auto m = match_events(view, "checkpoint");
  if (run.per_step_s > 0) weigh_phase(w, run);
  // What saving takes was measured to be little: that such a step is longer adds nothing.
  const bool little = run.per_step_s > 0 && run.share < kRelevantShare.value;
  if (m.events > 0 && !little) weigh_events(w, m);
  const Stake s = stake(view, {Phase::checkpoint});
  if (!w.decided() && run.per_step_s <= 0 && m.events == 0 && s.state == Stake::State::clear)
    w.gate(s);
  const double cost = run.per_step_s > 0 ? run.per_step_s : m.cost_s_per_step;
  constexpr size_t kNamed = 8;
  if (run.ranks.size() <= kNamed)
    for (const int32_t rank : run.ranks) w.where(fmt::format("rank/{}", rank));
  w.link("Saving blocks training", m.events > 0 ? fmt::format("{} saves", m.events) : "",
         seconds(cost) + " a step on average");
  auto v = std::move(w).verdict(
      run.per_step_s > 0
          ? fmt::format("saving blocks training for {} of the time", percent(run.share))
          : fmt::format("saving blocks training: steps with a save take {} the others' time",
                        times(m.ratio)),
      {"checkpoint events with times or steps", "step phases with checkpoint"});
  if (v.outcome == Outcome::supported && cost > 0) v.effect = Effect{cost, {kNaN, cost}};
  if (run.per_step_s > 0) v.since = run.since;
  v.throughout = run.per_step_s > 0 && throughout(run);
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_workload_checkpoint_stall{
    .id = "workload.checkpoint_stall",
    .claim = "saving a checkpoint blocks training",
    .decides = "checkpoint spans, or steps with a save against the others",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 1,
    .prior = 0,
    .test = test};

}  // namespace firstwait
