#include <fmt/core.h>

#include <algorithm>

#include "explain/workload_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::host, Phase::unexplained};
constexpr std::string_view kNeeds[] = {"a profiler trace with device activity"};
constexpr Threshold kShort{
    "median kernel", 20e-6, "s",
    "NVIDIA Nsight Systems guide: launching an elementwise kernel from PyTorch took about 20 µs on "
    "a V100"};
constexpr Threshold kLowUse{"device in use", 0.5, "ratio",
                            "PyTorch profiler plugin: below 50 % it advises a larger batch"};
constexpr Threshold kThresholds[] = {kRelevantShare, kShort, kLowUse};

struct Launches {
  double steps = 0, gap_s = 0, kernel_s = 0, kernels = 0, busy = 0;
  size_t ranks = 0;
};

Launches launches(const View& view) {
  Launches l;
  for (const auto& t : view.attribution.traces) {
    if (!t.has_gpu || !(t.launch_gap_s >= 0) || t.steps <= 0) continue;
    ++l.ranks;
    l.steps += t.steps;
    l.gap_s += t.launch_gap_s * t.steps;
    l.kernel_s += std::max(0.0, t.median_kernel_s) * t.steps;
    l.kernels += std::max(0.0, t.kernels_per_step) * t.steps;
    l.busy += std::max(0.0, t.gpu_busy_fraction) * t.steps;
  }
  if (l.steps > 0) {
    l.gap_s /= l.steps;
    l.kernel_s /= l.steps;
    l.kernels /= l.steps;
    l.busy /= l.steps;
  }
  return l;
}

Verdict test(const View& view) {
  Weighing w;
  const auto l = launches(view);
  const double step = view.attribution.current_s;
  if (l.ranks == 0 || !(step > 0)) return untested({"a profiler trace with device activity"});
  const double share = l.gap_s / step;
  auto gap = fact("the device idles between kernels", "launch_gap_s", "", l.gap_s, "s/step",
                  share >= kRelevantShare.value);
  if (share < kRelevantShare.value) {
    w.contradicts(kStrong, fmt::format("launch gaps are {} of the step", percent(share)), gap);
    return std::move(w).verdict("", {});
  }
  double others = 0;
  Phase largest = Phase::input_wait;
  for (const Phase p : {Phase::input_wait, Phase::collective, Phase::p2p, Phase::h2d,
                        Phase::checkpoint, Phase::gc}) {
    others += phase_seconds(view, p);
    if (phase_seconds(view, p) > phase_seconds(view, largest)) largest = p;
  }
  if (others > 0.5 * l.gap_s && others > kRelevantShare.value * step) {
    w.contradicts(
        kStrong,
        fmt::format("{} ({} of the step) outweighs launch gaps ({})", phase_words(largest),
                    percent(phase_seconds(view, largest) / step), percent(share)),
        fact(std::string(phase_words(largest)), fmt::format("ledger.{}", name(largest)), "",
             phase_seconds(view, largest), "s/step", false));
  }
  // One trace without a comparison: the gaps are measured, that a larger batch would close them is
  // not.
  w.supports(l.busy < kLowUse.value ? kPositive : 0.5, gap);
  if (l.kernel_s > 0 && l.kernel_s <= kShort.value)
    w.hints(0.75, fact("median kernel is shorter than its launch", "median_kernel_s", "",
                       l.kernel_s, "s", true));
  else if (l.kernel_s > 5 * kShort.value)
    w.contradicts(kPositive, fmt::format("the median kernel takes {}", seconds(l.kernel_s)),
                  fact("median kernel", "median_kernel_s", "", l.kernel_s, "s", false));
  w.link("The device waits for launches", fmt::format("{:.0f} kernels a step", l.kernels),
         percent(share) + " of the step");
  auto v = std::move(w).verdict(fmt::format("the device idles {} of each step between short "
                                            "kernels (median {}) that the host launches one by one",
                                            percent(share), seconds(l.kernel_s)),
                                {});
  if (v.outcome == Outcome::supported) v.effect = Effect{l.gap_s, {kNaN, l.gap_s}};
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_workload_batch_too_small{
    .id = "workload.batch_too_small",
    .claim = "kernels are short and bound by their launch",
    .decides = "gaps between kernels, kernel length, no other wait",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 1,
    .prior = 0,
    .test = test};

}  // namespace firstwait
