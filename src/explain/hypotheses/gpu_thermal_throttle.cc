#include <fmt/format.h>

#include "base/text.h"
#include "explain/gpu_facts.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_SM_CLOCK",
                                       "DCGM_FI_DEV_GPU_TEMP"};
constexpr Threshold kThresholds[] = {kReasonActive, kClockDrop, kUnderLoad, kPeerSpread};

// The kernel log says "throttle" of GPUs too; only heat counts here.
const Event* thermal_event(const View& view) {
  for (const auto* e : events(view, "throttle"))
    if (e->entity.starts_with("gpu/") && (contains_ignoring_case(e->attribute("reason"), "therm") ||
                                          contains_ignoring_case(e->attribute("message"), "therm")))
      return e;
  return nullptr;
}

Verdict test(const View& view) {
  const auto all = gpus(view);
  const auto shares =
      of_job(view, throttled(view, gpu_reason::kHardwareThermal | gpu_reason::kSoftwareThermal));
  const Event* event = thermal_event(view);
  if (shares.empty() && event == nullptr)
    return untested({"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "nvidia-smi -q -d PERFORMANCE"});

  Weighing w;
  w.gate(stake_or_unexplained(view, kComputePhases));
  const auto hot = active(shares);
  std::string worst = hot.empty() ? std::string() : hot.front().entity;
  double share = hot.empty() ? kNaN : hot.front().now;
  std::vector<std::string> names;
  for (const auto& r : hot) names.push_back(r.entity);
  if (!hot.empty()) {
    const Reading& r = hot.front();
    w.supports(kStrong, row("clock held down by heat", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", r.entity,
                            r, "ratio", true));
    if (r.has_before() && r.before >= r.now / kRise.value) {
      w.contradicts(
          kPositive,
          fmt::format("{} was as hot before: slowed by heat in {} of the samples",
                      gpu_label(r.entity), percent_text(r.before)),
          row("as hot before", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", r.entity, r, "ratio", false));
    }
  } else if (event != nullptr) {
    worst = event->entity;
    names.push_back(worst);
    w.supports(kPositive,
               fact("the driver logged a thermal slowdown", "throttle", worst, kNaN, "", true));
  } else {
    double hottest = kNaN;
    for (const auto& g : all)
      if (!(hottest >= g.temperature_c.now)) hottest = g.temperature_c.now;
    const std::string temperature =
        hottest == hottest ? fmt::format("; the hottest is at {:.0f} °C", hottest) : "";
    w.contradicts(
        kStrong, fmt::format("none of {} GPUs was slowed by heat{}", shares.size(), temperature),
        fact("not slowed by heat", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "", 0, "ratio", false));
  }

  double cost = kNaN, now = kNaN, normal = kNaN;
  if (const Gpu* g = gpu_of(all, worst)) {
    weigh_clock(w, *g);
    now = g->clock_mhz.now;
    normal = g->normal_clock_mhz;
    cost = clock_cost(view, now, normal);
    if (g->temperature_c.now == g->temperature_c.now)
      w.link("The GPU is too hot", gpu_label(worst),
             fmt::format("{:.0f} °C", g->temperature_c.now));
    if (now < normal)
      w.link("Its clock is held down", gpu_label(worst),
             fmt::format("{:.0f} → {:.0f} MHz", normal, now));
  }
  if (!worst.empty()) weigh_place(w, view, worst);
  for (const auto& n : names) add_place(w, view, n);
  std::string because = names.empty() ? ""
                                      : fmt::format("{} {} slowed by heat", gpu_group(names),
                                                    names.size() == 1 ? "is" : "are");
  if (share == share) because += fmt::format(" in {} of the samples", percent_text(share));
  Verdict v = std::move(w).verdict(because, {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS"});
  limit_effect(v, cost);
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_gpu_thermal_throttle{
    .id = "gpu.thermal_throttle",
    .claim = "heat holds the clock of a GPU down",
    .decides = "thermal throttle reasons, and the clock against its past and its peers",
    .accounts_for = kComputeOrUnexplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 6,
    .prior = 0,
    .test = test};

}  // namespace firstwait
