#include <fmt/core.h>

#include "base/text.h"
#include "explain/weigh.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::input_wait, Phase::collective, Phase::unexplained};
constexpr std::string_view kNeeds[] = {"step times at two world sizes", "samples per step"};
constexpr Threshold kHalf{"share of the added GPUs that became throughput", 0.5, "ratio",
                          "Gustafson, Reevaluating Amdahl's Law: at fixed work per GPU throughput "
                          "grows with the GPUs; below "
                          "half, most of those added wait"};
constexpr Threshold kThresholds[] = {kHalf};

Verdict test(const View& view) {
  const auto& a = view.attribution;
  double from = 0, to = 0;
  for (const auto& c : setting_changes(view, "world_size")) {
    const auto x = parse_double(c.from->value), y = parse_double(c.to->value);
    if (c.to->key != "world_size" || !x || !y || !at_onset(view, c.to->time)) continue;
    from = *x;
    to = *y;
  }
  if (!(to > from && from > 0))
    return untested({"step times of the same job at two world sizes (world_size with its time)"});
  if (!(a.slowdown > 0)) return untested({"step times before and after the change of world_size"});
  // Work per GPU is taken as fixed: steps of a data-parallel job hold world_size times the samples
  // of one rank.
  const double grew = to / from / a.slowdown;
  const double realised = (grew - 1) / (to / from - 1);
  Weighing w;
  auto e = fact("throughput against before", "steps", "", grew, "ratio", realised < kHalf.value);
  if (realised < kHalf.value)
    w.supports(kStrong, std::move(e));
  else
    w.contradicts(kStrong,
                  fmt::format("{} the GPUs gave {} the throughput", times(to / from), times(grew)),
                  std::move(e));
  w.link("More GPUs, hardly more throughput", fmt::format("{:.0f} → {:.0f} ranks", from, to),
         times(grew));
  return std::move(w).verdict(
      fmt::format("{} the ranks gave only {} the throughput", times(to / from), times(grew)), {});
}

}  // namespace

extern const Hypothesis hypothesis_workload_scaling_limit{
    .id = "workload.scaling_limit",
    .claim = "more GPUs, the same throughput",
    .decides = "throughput at two world sizes",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 1,
    .prior = 0,
    .test = test};

}  // namespace firstwait
