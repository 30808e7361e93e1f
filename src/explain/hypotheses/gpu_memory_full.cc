#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "explain/gpu_facts.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE",
                                       "firstwait_cuda_allocator_retries_total"};
constexpr Threshold kNearlyFull{
    "memory used", 0.95, "ratio",
    "PyTorch CUDA semantics: the caching allocator keeps what it once took, so use alone "
    "means nothing; from 95 % on the next block may not fit and caches are flushed"};
constexpr Threshold kRetries{
    "allocator retries", 1, "events",
    "torch.cuda.memory_stats, num_alloc_retries: a failed cudaMalloc that flushed the cache"};
constexpr Threshold kThresholds[] = {kNearlyFull, kRetries};
constexpr Phase kPhasesExplained[] = {Phase::forward, Phase::backward, Phase::optimizer,
                                      Phase::host, Phase::unexplained};
constexpr std::string_view kRetryMetrics[] = {"firstwait_cuda_allocator_retries_total",
                                              "firstwait_gpu_allocator_retries_total"};

struct Fullest {
  std::string gpu;
  double used = kNaN;  // ratio
};
Fullest fullest(const View& view) {
  Fullest f;
  const auto free = of_job(view, mean_by_entity(gauge(view, "DCGM_FI_DEV_FB_FREE")));
  for (const auto& u : of_job(view, mean_by_entity(gauge(view, "DCGM_FI_DEV_FB_USED")))) {
    const Reading* rest = of_entity(free, u.entity);
    if (rest == nullptr || !(u.now + rest->now > 0)) continue;
    const double used = u.now / (u.now + rest->now);
    if (!(f.used >= used)) f = {u.entity, used};
  }
  return f;
}

const Event* device_oom(const View& view) {
  for (const auto* e : events(view, "oom"))
    // The kernel's OOM killer is about host memory.
    if (e->entity.starts_with("gpu/") ||
        contains_ignoring_case(e->attribute("message"), "CUDA out of memory"))
      return e;
  return nullptr;
}

Verdict test(const View& view) {
  const Fullest full = fullest(view);
  std::vector<Reading> retries;
  std::string_view metric;
  for (const auto name : kRetryMetrics) {
    retries = rate(view, name);
    metric = name;
    if (!retries.empty()) break;
  }
  const Event* oom = device_oom(view);
  if (retries.empty() && oom == nullptr && !(full.used < kNearlyFull.value))
    return untested({"torch.cuda.memory_stats: num_alloc_retries", "DCGM_FI_DEV_FB_USED",
                     "DCGM_FI_DEV_FB_FREE"});

  Weighing w;
  w.gate(stake_or_unexplained(
      view, std::array{Phase::forward, Phase::backward, Phase::optimizer, Phase::host}));
  std::string because;
  const auto worst =
      std::max_element(retries.begin(), retries.end(),
                       [](const Reading& a, const Reading& b) { return a.now < b.now; });
  if (worst != retries.end() && worst->now_count >= kRetries.value && rose(*worst) != false) {
    because = fmt::format("the allocator failed and flushed its cache {:.0f} times on {}",
                          worst->now_count, worst->entity);
    w.supports(kStrong, row("allocator retries", std::string(metric), worst->entity, *worst,
                            "events/s", true));
    add_place(w, view, worst->entity);
  } else if (worst != retries.end()) {
    w.contradicts(
        kStrong,
        fmt::format("the allocator never had to retry more than before ({:.0f} times)",
                    worst->now_count),
        row("allocator retries", std::string(metric), worst->entity, *worst, "events/s", false));
  }
  if (oom != nullptr) {
    if (because.empty()) because = "the device ran out of memory";
    w.supports(kPositive, fact("out of memory", "oom", oom->entity, kNaN, "", true));
    add_place(w, view, oom->entity);
  }
  if (full.used >= kNearlyFull.value) {
    w.hints(kWeak,
            fact("device memory used", "DCGM_FI_DEV_FB_USED", full.gpu, full.used, "ratio", true));
  } else if (full.used == full.used) {
    w.contradicts(
        kPositive,
        fmt::format("at most {} of the device memory is used ({})", percent_text(full.used),
                    gpu_label(full.gpu)),
        fact("device memory used", "DCGM_FI_DEV_FB_USED", full.gpu, full.used, "ratio", false));
  }
  if (!because.empty())
    w.link("Device memory is full", full.gpu.empty() ? "" : gpu_label(full.gpu), "");
  return std::move(w).verdict(because, {"torch.cuda.memory_stats: num_alloc_retries"});
}

}  // namespace

extern const Hypothesis hypothesis_gpu_memory_full{
    .id = "gpu.memory_full",
    .claim = "device memory is full, and the allocator works instead of the GPU",
    .decides = "allocator retries; memory in use alone proves nothing",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 6,
    .prior = 0,
    .test = test};

}  // namespace firstwait
