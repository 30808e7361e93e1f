#include <fmt/core.h>

#include <algorithm>

#include "explain/weigh.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::forward, Phase::backward, Phase::unexplained};
constexpr std::string_view kNeeds[] = {
    "DCGM_FI_DEV_GPU_UTIL and DCGM_FI_DEV_FB_USED of all GPUs of the job"};
constexpr Threshold kHeld{"memory held", 1024, "MiB",
                          "more than a CUDA context of its own, which takes 0.3 to 0.6 GiB"};
constexpr Threshold kIdle{
    "idle", 5, "%",
    "DCGM: utilization is the share of time with a kernel running; 5 % is a bystander"};
constexpr Threshold kWorks{"works", 50, "%",
                           "PyTorch profiler plugin: below 50 % a GPU counts as little used"};
constexpr Threshold kThresholds[] = {kHeld, kIdle, kWorks};

Verdict test(const View& view) {
  const auto use = mean_by_entity(gauge(view, "DCGM_FI_DEV_GPU_UTIL"));
  const auto held = mean_by_entity(gauge(view, "DCGM_FI_DEV_FB_USED"));
  std::vector<const Reading*> idle, busy, between;
  for (const auto& m : held) {
    const auto* u = of_entity(use, m.entity);
    if (u == nullptr || m.now < kHeld.value) continue;
    (u->now <= kIdle.value ? idle : u->now >= kWorks.value ? busy : between).push_back(u);
  }
  const size_t all = idle.size() + busy.size() + between.size();
  if (all == 0) return untested({"DCGM_FI_DEV_GPU_UTIL and DCGM_FI_DEV_FB_USED"});
  Weighing w;
  if (all < 2 || busy.size() + between.size() != 1 || idle.empty()) {
    w.contradicts(
        kStrong,
        fmt::format("{} of {} GPUs that hold memory work", busy.size() + between.size(), all),
        fact("GPUs that work", "DCGM_FI_DEV_GPU_UTIL", "",
             static_cast<double>(busy.size() + between.size()), "GPUs", false));
    return std::move(w).verdict("", {});
  }
  const Reading* worker = busy.empty() ? between.front() : busy.front();
  w.supports(kStrong, row("the only GPU that works", "DCGM_FI_DEV_GPU_UTIL", worker->entity,
                          *worker, "%", true));
  w.where(worker->entity);
  for (const auto* i : idle)
    w.hints(0.25,
            row("holds memory, does nothing", "DCGM_FI_DEV_GPU_UTIL", i->entity, *i, "%", true));
  w.link("One GPU works", worker->entity, fmt::format("{} others hold memory", idle.size()));
  return std::move(w).verdict(fmt::format("one GPU works, {} others only hold memory", idle.size()),
                              {});
}

}  // namespace

extern const Hypothesis hypothesis_workload_single_device{
    .id = "workload.single_device",
    .claim = "only one GPU works, the others hold memory",
    .decides = "utilization per GPU against memory held",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 1,
    .prior = 0,
    .test = test};

}  // namespace firstwait
