#include <fmt/core.h>

#include <cmath>
#include <set>

#include "explain/weigh.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::unexplained};
constexpr std::string_view kNeeds[] = {"step times", "metrics with times"};
constexpr Threshold kStale{"age of the last sample", 300, "s",
                           "Prometheus: a series is stale five minutes after its last sample"};
constexpr Threshold kReplay{"replay error", 0.05, "ratio",
                            "arXiv 2505.05713: traces replayed with a larger error are discarded"};
constexpr Threshold kMost{"share of the series", 0.5, "ratio",
                          "the majority of what should be seen"};
constexpr Threshold kThresholds[] = {kStale, kReplay, kMost};

struct Stale {
  size_t series = 0, stale = 0;
};

Stale stale_series(const View& view) {
  Stale out;
  const Ns end = view.attribution.current.to;
  if (view.attribution.current.empty || end == kNoTime) return out;
  for (const auto& s : view.evidence.series) {
    if (s.time.size() < 2) continue;  // one scrape is a fact, not a series
    ++out.series;
    if ((static_cast<double>(end) - static_cast<double>(s.time.back())) * 1e-9 > kStale.value)
      ++out.stale;
  }
  return out;
}

// Ranks with step times in the baseline and none now.
size_t silent_ranks(const View& view) {
  const auto& a = view.attribution;
  if (a.baseline.empty || a.current.empty || a.ranks.step_time.empty()) return 0;
  const auto any = [&](size_t row, const Window& w) {
    for (size_t c = w.first; c <= w.last && c < a.ranks.steps; ++c)
      if (a.ranks.at(a.ranks.step_time, row, c) >= 0) return true;
    return false;
  };
  size_t silent = 0;
  for (size_t row = 0; row < a.ranks.ranks.size(); ++row)
    if (any(row, a.baseline) && !any(row, a.current)) ++silent;
  return silent;
}

Verdict test(const View& view) {
  const auto& a = view.attribution;
  if (a.steps.size() == 0 && view.evidence.series.empty())
    return untested({"step times or metrics"});
  Weighing w;
  std::string because;
  if (const size_t silent = silent_ranks(view); silent > 0) {
    w.supports(
        3, fact("ranks that fell silent", "steps", "", static_cast<double>(silent), "ranks", true));
    because =
        fmt::format("{} of {} ranks send no step times any more", silent, a.ranks.ranks.size());
  }
  const auto s = stale_series(view);
  if (s.series > 0 && static_cast<double>(s.stale) > kMost.value * static_cast<double>(s.series)) {
    w.supports(kPositive, fact("series without a sample for five minutes", "series", "",
                               static_cast<double>(s.stale), "series", true));
    if (because.empty())
      because = fmt::format("{} of {} series ended more than five minutes before the steps",
                            s.stale, s.series);
  }
  if (std::abs(a.replay_error) > kReplay.value) {
    w.supports(kPositive, fact("replay misses the step time", "replay_error", "",
                               std::abs(a.replay_error), "ratio", true));
    if (because.empty())
      because = fmt::format("replay misses the step time by {}", percent(std::abs(a.replay_error)));
  }
  std::set<std::string_view> lossy;
  for (const auto& e : view.evidence.health.entries())
    if (e.counter->severity == Severity::data_loss) lossy.insert(e.source);
  if (!lossy.empty())
    w.hints(kWeak, fact("sources that lost data", "input_health", "",
                        static_cast<double>(lossy.size()), "sources", true));
  if (!w.decided()) {
    if (!lossy.empty()) return untested({"a complete copy of the damaged inputs"});
    w.contradicts(
        kStrong,
        s.series > 0
            ? fmt::format("{} of {} series are stale, no source lost data", s.stale, s.series)
            : fmt::format("{} steps read, 0 sources lost data", a.steps.size()),
        fact("series that are stale", "series", "", static_cast<double>(s.stale), "series", false));
  }
  return std::move(w).verdict(because, {});
}

}  // namespace

extern const Hypothesis hypothesis_telemetry_unreliable{
    .id = "telemetry.unreliable",
    .claim = "the data, not the job, is broken",
    .decides = "silent ranks, stale series, replay error, lost input",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 1,
    .prior = 0,
    .test = test};

}  // namespace firstwait
