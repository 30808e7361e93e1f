#include <fmt/core.h>

#include "explain/weigh.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::forward, Phase::backward, Phase::host,
                                      Phase::unexplained};
constexpr std::string_view kNeeds[] = {
    "firstwait_cuda_alloc_retries_total (num_alloc_retries of torch.cuda.memory_stats)"};
constexpr Threshold kRetries{"allocator retries per step", 0.05, "1/step",
                             "torch.cuda.memory_stats: each num_alloc_retries flushed the cache "
                             "and synchronised; fewer than "
                             "one in 20 steps touch under 5 % of them"};
constexpr Threshold kThresholds[] = {kRelevantShare, kRetries};

Verdict test(const View& view) {
  const auto retries = rate(view, "firstwait_cuda_alloc_retries_total");
  if (retries.empty()) return untested({"num_alloc_retries of torch.cuda.memory_stats"});
  Weighing w;
  const double step = view.attribution.current_s;
  const Reading* most = &retries.front();
  for (const auto& r : retries)
    if (r.now > most->now) most = &r;
  const double per_step = step > 0 ? most->now * step : kNaN;
  auto e = row("allocator retries", "firstwait_cuda_alloc_retries_total", most->entity, *most,
               "1/s", per_step >= kRetries.value);
  if (!(per_step >= kRetries.value)) {
    w.contradicts(kStrong, fmt::format("{} allocator retries a second", three_digits(most->now)),
                  std::move(e));
    return std::move(w).verdict("", {});
  }
  if (!w.gate(stake(view, kPhasesExplained))) return std::move(w).verdict("", {});
  if (most->has_before() && most->before >= 0.5 * most->now && view.attribution.onset)
    w.contradicts(kPositive,
                  fmt::format("as many retries before: {} a second", three_digits(most->before)),
                  e);
  w.supports(kStrong, std::move(e)).where(most->entity);
  w.link("The allocator flushes its cache", most->entity,
         fmt::format("{} a step", three_digits(per_step)));
  return std::move(w).verdict(
      fmt::format("the allocator finds no block and flushes its cache {} times a step",
                  three_digits(per_step)),
      {});
}

}  // namespace

extern const Hypothesis hypothesis_workload_memory_fragmentation{
    .id = "workload.memory_fragmentation",
    .claim = "the allocator runs out of blocks and flushes its cache",
    .decides = "allocator retries per step",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 1,
    .prior = 0,
    .test = test};

}  // namespace firstwait
