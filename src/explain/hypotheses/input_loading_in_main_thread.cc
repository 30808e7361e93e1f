#include <fmt/core.h>

#include "explain/input_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::input_wait};
constexpr std::string_view kNeeds[] = {"a profiler trace with the loader's iterator",
                                       "loader.num_workers", "step phases with input_wait"};
constexpr Threshold kThresholds[] = {kRelevantShare};

struct TraceLoading {
  size_t in_main = 0, by_workers = 0;
  double seconds = 0;  // per step, mean over the ranks that load in the main thread
};

TraceLoading from_traces(const View& view) {
  TraceLoading out;
  for (const auto& t : view.attribution.traces) {
    if (t.loader_workers_seen) ++out.by_workers;
    if (!t.loader_in_main_thread) continue;
    ++out.in_main;
    if (t.loader_main_thread_s > 0) out.seconds += t.loader_main_thread_s;
  }
  if (out.in_main > 0) out.seconds /= static_cast<double>(out.in_main);
  return out;
}

Verdict test(const View& view) {
  Weighing w;
  const auto trace = from_traces(view);
  const auto workers = loader_workers(view);
  if (trace.by_workers > 0 && trace.in_main == 0) {
    w.contradicts(kVeryStrong,
                  fmt::format("workers load: {} of {} ranks use a multi-process loader",
                              trace.by_workers, view.attribution.traces.size()),
                  fact("a multi-process loader iterator was seen", "loader_workers_seen", "",
                       static_cast<double>(trace.by_workers), "ranks", false));
    return std::move(w).verdict("", {});
  }
  if (trace.in_main == 0 && workers && *workers > 0) {
    w.contradicts(kVeryStrong, fmt::format("loader.num_workers is {:.0f}", *workers),
                  fact("workers load", "loader.num_workers", "", *workers, "workers", false));
    return std::move(w).verdict("", {});
  }
  const Stake s = stake(view, kPhasesExplained);
  // Without a measured wait for input, a loader in the main thread proves no slowness.
  if (s.state == Stake::State::unknown)
    return untested({"step phases with input_wait, or a profiler trace"});
  if (!w.gate(s)) return std::move(w).verdict("", {});
  if (trace.in_main > 0) {
    w.supports(kVeryStrong, fact("the training thread runs the loader itself",
                                 "loader_main_thread_s", "", trace.seconds, "s/step", true));
    w.link("Loading runs in the training thread", "single-process loader", seconds(trace.seconds));
  }
  if (workers && *workers <= 0) {
    w.supports(trace.in_main > 0 ? kWeak : kStrong,
               fact("no loader workers", "loader.num_workers", "", 0, "workers", true));
    if (trace.in_main == 0)
      w.link("Loading runs in the training thread", "loader.num_workers", "0");
  }
  // A loader that was in the main thread before as well explains a wait, not its growth.
  if (s.before_s == s.before_s && setting_changes(view, "loader.num_workers").empty())
    w.contradicts(
        kStrong,
        fmt::format("the loader was the same before: {}", change_text(s.before_s, s.now_s)),
        fact("the loader did not change at the onset", "loader.num_workers", "", 0, "workers",
             false, 0));
  return std::move(w).verdict(
      fmt::format("loading runs in the training thread for {} of each step of {}", seconds(s.now_s),
                  seconds(s.now_s / s.share)),
      {"loader.num_workers", "a profiler trace with the loader's iterator"});
}

}  // namespace

extern const Hypothesis hypothesis_input_loading_in_main_thread{
    .id = "input.loading_in_main_thread",
    .claim = "loading runs inside the training loop",
    .decides = "input work on the main thread, no workers",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 5,
    .prior = 0,
    .test = test};

}  // namespace firstwait
