#include <fmt/core.h>

#include <algorithm>

#include "explain/input_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::host, Phase::unexplained};
constexpr std::string_view kNeeds[] = {"a profiler trace with runtime calls",
                                       "step phases with host"};
constexpr Threshold kQueued{"batches ready", 1, "batches",
                            "a batch that waits in the loader's queue means that the training "
                            "thread, not the input, is late"};
constexpr Threshold kThresholds[] = {kRelevantShare, kQueued};

Verdict test(const View& view) {
  Weighing w;
  const Stake s = stake(view, {Phase::host});
  double sync = 0, items = 0, weight = 0;
  for (const auto& t : view.attribution.traces) {
    if (!(t.sync_s >= 0) || t.steps <= 0) continue;
    weight += t.steps;
    sync += t.sync_s * t.steps;
    items += std::max(0.0, t.item_calls_per_step) * t.steps;
  }
  const double step = view.attribution.current_s;
  double sync_share = kNaN;
  if (weight > 0 && step > 0) {
    sync /= weight;
    items /= weight;
    sync_share = sync / step;
    if (sync_share >= kRelevantShare.value) {
      // A wait for the device is time in which it works, unless the host then has nothing queued.
      w.supports(items >= 1 ? kPositive : kWeak, fact("the training thread waits for the device",
                                                      "sync_s", "", sync, "s/step", true));
      if (items >= 1)
        w.hints(kWeak, fact("scalar reads", "item_calls_per_step", "", items, "1/step", true));
    } else {
      w.contradicts(
          kPositive,
          fmt::format("synchronisation takes {} of the step, {:.3g} scalar reads",
                      percent(sync_share), items),
          fact("the training thread waits for the device", "sync_s", "", sync, "s/step", false));
    }
  }
  if (weight == 0 && s.state == Stake::State::unknown)
    return untested({"step phases with host, or a profiler trace with runtime calls"});
  if (s.state != Stake::State::unknown || weight == 0)
    if (!w.gate(s)) return std::move(w).verdict("", {});
  if (s.state == Stake::State::present && weight == 0)
    w.supports(1.5, fact("host code on the training thread", "ledger.host", "", s.now_s, "s/step",
                         true, s.before_s));
  const auto loader = loader_facts(view);
  if (loader.queued >= kQueued.value && w.decided())
    w.hints(kPositive, fact("batches wait for the training thread", "loader.queued", "",
                            loader.queued, "batches", true));
  const double shown = s.state == Stake::State::present ? s.now_s : sync;
  w.link("The training thread runs host code", "", seconds(shown) + " a step");
  auto v = std::move(w).verdict(
      s.state == Stake::State::present
          ? fmt::format("the training thread spends {} of each step in host code", seconds(s.now_s))
          : fmt::format("the training thread waits for the device {} of each step",
                        percent(sync_share)),
      {"a profiler trace with runtime calls"});
  if (v.outcome == Outcome::supported && !v.effect) v.effect = Effect{sync, {kNaN, sync}};
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_workload_host_sync{
    .id = "workload.host_sync",
    .claim = "Python, scalar reads or printing hold the training thread",
    .decides = "host phase, synchronising calls, batches that wait in the loader's queue",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 1,
    .prior = 0,
    .test = test};

}  // namespace firstwait
