#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "explain/input_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::input_wait, Phase::unexplained};
constexpr std::string_view kNeeds[] = {"steps with their epoch", "loader.persistent_workers"};
constexpr Threshold kEpochs{"epoch starts", 3, "epochs",
                            "a pattern needs three occurrences: two are one interval"};
constexpr Threshold kRatio{"first step of an epoch against the others", 2, "ratio",
                           "from 2 on, most of the step is not its usual work"};
constexpr Threshold kThresholds[] = {kRelevantShare, kEpochs, kRatio};

struct EpochStarts {
  size_t epochs = 0, slow = 0;
  size_t others = 0, slow_others = 0;
  double median_s = kNaN, excess_per_step_s = 0;
};

EpochStarts epoch_starts(const View& view) {
  EpochStarts out;
  const auto& t = view.evidence.steps;
  std::map<std::pair<int32_t, int32_t>, std::pair<int32_t, size_t>>
      first;  // rank, epoch -> least step, its row
  std::vector<double> all;
  for (size_t i = 0; i < t.size() && i < t.epoch.size(); ++i) {
    if (t.epoch[i] < 0 || (i < t.kind.size() && t.kind[i] != StepKind::train)) continue;
    all.push_back(static_cast<double>(t.duration[i]) * 1e-9);
    auto [it, fresh] = first.try_emplace({t.rank[i], t.epoch[i]}, t.step[i], i);
    if (!fresh && t.step[i] < it->second.first) it->second = {t.step[i], i};
  }
  if (all.size() < 8) return out;
  std::nth_element(all.begin(), all.begin() + static_cast<ptrdiff_t>(all.size() / 2), all.end());
  out.median_s = all[all.size() / 2];
  std::set<size_t> starts;
  int32_t lowest = INT32_MAX;
  for (const auto& [key, v] : first) lowest = std::min(lowest, key.second);
  for (const auto& [key, v] : first) {
    starts.insert(v.second);
    if (key.second == lowest) continue;  // the first epoch starts the job
    ++out.epochs;
    const double d = static_cast<double>(t.duration[v.second]) * 1e-9;
    if (d >= kRatio.value * out.median_s) ++out.slow;
    out.excess_per_step_s += std::max(0.0, d - out.median_s);
  }
  for (size_t i = 0; i < t.size() && i < t.epoch.size(); ++i) {
    if (t.epoch[i] < 0 || starts.contains(i)) continue;
    ++out.others;
    if (static_cast<double>(t.duration[i]) * 1e-9 >= kRatio.value * out.median_s) ++out.slow_others;
  }
  out.excess_per_step_s /= static_cast<double>(all.size());
  return out;
}

Verdict test(const View& view) {
  Weighing w;
  const auto persistent = setting(view, "loader.persistent_workers");
  const auto workers = loader_workers(view);
  const bool kept =
      persistent && (*persistent == "true" || *persistent == "True" || *persistent == "1");
  if (kept || (workers && *workers <= 0)) {
    const std::string reason =
        kept ? "loader.persistent_workers is true" : "loader.num_workers is 0";
    w.contradicts(
        kStrong, reason,
        fact("no worker is re-created", "loader.persistent_workers", "", 0, "workers", false));
    return std::move(w).verdict("", {});
  }
  const auto e = epoch_starts(view);
  if (static_cast<double>(e.epochs) < kEpochs.value)
    return untested({"steps with their epoch over four epochs or more"});
  const double slow = static_cast<double>(e.slow) / static_cast<double>(e.epochs);
  const double elsewhere =
      e.others > 0 ? static_cast<double>(e.slow_others) / static_cast<double>(e.others) : 0;
  const auto r = fact("epoch starts that are slow", "steps.epoch", "", slow, "ratio", slow > 0.5);
  if (slow < 0.5 || elsewhere > 0.5 * slow) {
    w.contradicts(kStrong,
                  fmt::format("{} of {} epoch starts are slow, {} of other steps", e.slow, e.epochs,
                              percent(elsewhere)),
                  r);
    return std::move(w).verdict("", {});
  }
  w.supports(persistent ? kStrong : kPositive, r);
  if (persistent)
    w.hints(0, fact("workers are not kept between epochs", "loader.persistent_workers", "", 0, "",
                    true));
  w.link("First step of each epoch slow", "loader workers start anew",
         fmt::format("{} of {} epochs", e.slow, e.epochs));
  auto v = std::move(w).verdict(
      fmt::format("loader workers start anew in each epoch: its first step is slow in {} of {}",
                  e.slow, e.epochs),
      {});
  if (v.outcome == Outcome::supported)
    v.effect = Effect{e.excess_per_step_s, {0, e.excess_per_step_s}};
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_input_worker_respawn{
    .id = "input.worker_respawn",
    .claim = "loader workers are created anew each epoch",
    .decides = "a gap only at epoch starts, process starts",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 5,
    .prior = 0,
    .test = test};

}  // namespace firstwait
