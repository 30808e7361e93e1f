#include <fmt/format.h>

#include <algorithm>

#include "explain/gpu_facts.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
                                       "gpu.clocks_limit"};
constexpr Threshold kThresholds[] = {kReasonActive, kClockDrop, kUnderLoad, kPeerSpread};

struct Candidate {
  const Gpu* gpu = nullptr;
  double llr = 0, below = 0, normal = kNaN;
  EvidenceRow row;
  std::string why;
};

// A limit that somebody set: told by a reason or by the setting itself, else only suspected.
Candidate judge(const Gpu& g, double limit, const std::vector<Reading>& set,
                const std::vector<Reading>& other) {
  Candidate c;
  if (g.under_load != true || !(g.clock_mhz.now > 0)) return c;
  c.gpu = &g;
  c.normal = g.clock_mhz.has_before() ? g.clock_mhz.before : kNaN;
  // A limit may have been there all the time, on all GPUs: what the device can do counts as well.
  if (!(c.normal >= g.normal_clock_mhz)) c.normal = g.normal_clock_mhz;
  const Reading* reason = of_entity(set, g.entity);
  const bool told = reason != nullptr && reason->now >= kReasonActive.value;
  const bool limited = limit > 0 && limit < (1 - kClockDrop.value) * g.clock_max_mhz &&
                       g.clock_mhz.now <= 1.02 * limit;
  if ((told || limited) && g.clock_max_mhz > 0 && !(c.normal > g.clock_max_mhz))
    c.normal = g.clock_max_mhz;
  c.below = 1 - g.clock_mhz.now / c.normal;
  if (!(c.below > kClockDrop.value)) return c;
  const Reading* held = of_entity(other, g.entity);
  if (held != nullptr && held->now >= kReasonActive.value)
    return c;  // heat or power: not a setting
  if (limited) {
    c.llr = kStrong;
    c.why = fmt::format("its clock limit is {:.0f} of {:.0f} MHz", limit, g.clock_max_mhz);
    c.row =
        fact("clock limit set", "gpu.clocks_limit", g.entity, limit, "MHz", true, g.clock_max_mhz);
  } else if (told) {
    c.llr = kStrong;
    c.why =
        fmt::format("a clock setting holds it at {:.0f} of {:.0f} MHz", g.clock_mhz.now, c.normal);
    c.row = row("a clock setting acts", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", g.entity, *reason,
                "ratio", true);
  } else {
    c.llr = kWeak;
    c.why = fmt::format("it runs at {:.0f} of {:.0f} MHz, and neither heat nor power explains it",
                        g.clock_mhz.now, c.normal);
    c.row = fact("clock below normal", "DCGM_FI_DEV_SM_CLOCK", g.entity, g.clock_mhz.now, "MHz",
                 true, c.normal);
  }
  return c;
}

Verdict test(const View& view) {
  const auto all = gpus(view);
  const auto set = throttled(
      view, gpu_reason::kApplicationClocks | gpu_reason::kDisplayClocks | gpu_reason::kSyncBoost);
  const auto other = throttled(view, gpu_reason::kHardwareThermal | gpu_reason::kSoftwareThermal |
                                         gpu_reason::kPowerBrake | gpu_reason::kSoftwarePowerCap |
                                         gpu_reason::kHardwareSlowdown);
  const GpuNumbers limits(view, {"gpu.clocks_limit"});
  std::vector<Candidate> judged;
  for (const auto& g : all) {
    auto c = judge(g, limits.of(g.entity), set, other);
    if (c.gpu != nullptr && c.normal == c.normal) judged.push_back(std::move(c));
  }
  if (judged.empty())
    return untested({"DCGM_FI_DEV_SM_CLOCK under load", "DCGM_FI_DEV_MAX_SM_CLOCK"});
  std::stable_sort(judged.begin(), judged.end(), [](const auto& a, const auto& b) {
    return a.llr != b.llr ? a.llr > b.llr : a.below > b.below;
  });

  Weighing w;
  w.gate(stake_or_unexplained(view, kComputePhases));
  const Candidate& worst = judged.front();
  const auto& gpu = worst.gpu->entity;
  if (worst.llr > 0) {
    w.supports(worst.llr, worst.row);
    weigh_place(w, view, gpu);
    std::vector<std::string> names;
    for (const auto& c : judged)
      if (c.llr > 0) names.push_back(c.gpu->entity);
    for (const auto& n : names) add_place(w, view, n);
    w.link("The clock is limited", gpu_group(names),
           fmt::format("{:.0f} of {:.0f} MHz", worst.gpu->clock_mhz.now, worst.normal));
  } else {
    w.contradicts(kStrong,
                  worst.below > kClockDrop.value
                      ? fmt::format("{} is held down by heat or power, not by a clock setting",
                                    gpu_label(gpu))
                      : fmt::format("{} runs at {:.0f} of {:.0f} MHz under load", gpu_label(gpu),
                                    worst.gpu->clock_mhz.now, worst.normal),
                  fact("clock under load", "DCGM_FI_DEV_SM_CLOCK", gpu, worst.gpu->clock_mhz.now,
                       "MHz", false, worst.normal));
  }
  Verdict v = std::move(w).verdict(fmt::format("{}: {}", gpu_label(gpu), worst.why), {});
  limit_effect(v, clock_cost(view, worst.gpu->clock_mhz.now, worst.normal));
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_gpu_clocks_limited{
    .id = "gpu.clocks_limited",
    .claim = "a setting limits the clock of a GPU",
    .decides = "clock settings that act under load, and the clock against peers and its maximum",
    .accounts_for = kComputeOrUnexplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 6,
    .prior = 0,
    .test = test};

}  // namespace firstwait
