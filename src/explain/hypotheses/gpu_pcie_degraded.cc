#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "explain/gpu_facts.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"DCGM_FI_DEV_PCIE_LINK_GEN", "DCGM_FI_DEV_PCIE_LINK_WIDTH",
                                       "pcie.link_gen_max", "pcie.link_width_max",
                                       "DCGM_FI_DEV_GPU_UTIL"};
constexpr Threshold kReplays{
    "replays per minute", 8, "events/min",
    "NVIDIA DCGM, dcgm_gpu_hardware_limits.h: 8 replays per minute is the maximum"};
constexpr Threshold kBelowMaximum{
    "link below maximum", 1, "ratio",
    "nvidia-smi manual: the current link may be reduced when the GPU is not in use, so "
    "only a link under load counts"};
constexpr Threshold kThresholds[] = {kBelowMaximum, kReplays, kUnderLoad};
constexpr Phase kPhasesExplained[] = {Phase::h2d, Phase::input_wait, Phase::collective, Phase::p2p,
                                      Phase::unexplained};
constexpr Phase kCopies[] = {Phase::h2d, Phase::collective, Phase::p2p};

struct Link {
  const Gpu* gpu;
  double gen, gen_max, width, width_max;
  // Relative speed: each generation doubles the rate of a lane.
  double speed() const { return std::exp2(gen) * width; }
  double best() const { return std::exp2(gen_max) * width_max; }
};

std::vector<Link> links_under_load(const View& view, const std::vector<Gpu>& all) {
  const GpuNumbers gen(view, {"DCGM_FI_DEV_PCIE_LINK_GEN", "pcie.link_gen"}),
      gen_max(view, {"DCGM_FI_DEV_PCIE_MAX_LINK_GEN", "pcie.link_gen_max"}),
      width(view, {"DCGM_FI_DEV_PCIE_LINK_WIDTH", "pcie.link_width"}),
      width_max(view, {"DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", "pcie.link_width_max"});
  std::vector<Link> out;
  for (const auto& g : all) {
    if (g.under_load != true) continue;
    const Link l{&g, gen.of(g.entity), gen_max.of(g.entity), width.of(g.entity),
                 width_max.of(g.entity)};
    if (l.gen > 0 && l.gen <= 16 && l.width > 0 && l.width <= 64) out.push_back(l);
  }
  return out;
}

Verdict test(const View& view) {
  const auto all = gpus(view);
  const auto links = links_under_load(view, all);
  const auto replays = of_job(view, rate(view, "DCGM_FI_DEV_PCIE_REPLAY_COUNTER"));
  if (links.empty() && replays.empty())
    return untested({"DCGM_FI_DEV_PCIE_LINK_GEN and _WIDTH under load", "DCGM_FI_DEV_GPU_UTIL"});

  Weighing w;
  w.gate(stake_or_unexplained(view, kCopies));
  std::vector<double> speeds;
  for (const auto& l : links) speeds.push_back(l.speed());
  const double usual = median_of(speeds);
  const auto worst = std::min_element(links.begin(), links.end(), [](const Link& a, const Link& b) {
    return a.speed() < b.speed();
  });
  std::string where, because;
  double share_lost = kNaN;
  if (worst != links.end()) {
    const bool below_peers = links.size() > 1 && worst->speed() < usual;
    const bool below_own = worst->gen < worst->gen_max || worst->width < worst->width_max;
    const auto text = fmt::format("Gen{:.0f} x{:.0f}", worst->gen, worst->width);
    const double wanted =
        below_peers ? std::max(usual, below_own ? worst->best() : usual) : worst->best();
    if (below_peers || below_own) {
      where = worst->gpu->entity;
      because = below_own
                    ? fmt::format("the PCIe link of {} runs at {} of Gen{:.0f} x{:.0f} under load",
                                  gpu_label(where), text, worst->gen_max, worst->width_max)
                    : fmt::format("the PCIe link of {} runs at {}, slower than its peers'",
                                  gpu_label(where), text);
      share_lost = 1 - worst->speed() / wanted;
      // All alike below their maximum is often how the slots are wired.
      w.supports(below_peers ? kStrong : kWeak,
                 fact(below_peers ? "PCIe link slower than its peers' under load"
                                  : "PCIe link below its maximum under load",
                      "DCGM_FI_DEV_PCIE_LINK_WIDTH", where, worst->speed() / wanted,
                      "of its peers'", true, 1));
      w.link("The PCIe link is slow", gpu_label(where), text);
    } else {
      w.contradicts(kStrong,
                    fmt::format("all {} PCIe links run at {} under load", links.size(), text),
                    fact("PCIe links at their maximum", "DCGM_FI_DEV_PCIE_LINK_GEN",
                         worst->gpu->entity, worst->gen, "generation", false));
    }
  }
  const auto noisy =
      std::max_element(replays.begin(), replays.end(),
                       [](const Reading& a, const Reading& b) { return a.now < b.now; });
  if (noisy != replays.end()) {
    const double per_minute = 60 * noisy->now;
    if (per_minute > kReplays.value && noisy->now_count >= kCounted.value) {
      if (where.empty()) {
        where = noisy->entity;
        because = fmt::format("the PCIe link of {} repeats {:.0f} packets per minute",
                              gpu_label(where), per_minute);
      }
      w.supports(rose(*noisy) == false ? kWeak : kPositive,
                 row("PCIe replays", "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", noisy->entity, *noisy,
                     "events/s", true));
    } else if (links.empty()) {
      w.contradicts(kPositive, fmt::format("at most {:.1f} PCIe replays per minute", per_minute),
                    row("few PCIe replays", "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", noisy->entity,
                        *noisy, "events/s", false));
    }
  }
  if (!where.empty()) {
    weigh_place(w, view, where);
    add_place(w, view, where);
  }
  Verdict v = std::move(w).verdict(because, {"DCGM_FI_DEV_PCIE_LINK_GEN under load"});
  if (share_lost == share_lost) limit_effect(v, stake(view, kCopies).now_s * share_lost);
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_gpu_pcie_degraded{
    .id = "gpu.pcie_degraded",
    .claim = "the PCIe link of a GPU is slower or narrower than it should be",
    .decides = "generation and width under load against the maximum and the peers, replays",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 6,
    .prior = 0,
    .test = test};

}  // namespace firstwait
