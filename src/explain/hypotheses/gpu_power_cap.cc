#include <fmt/format.h>

#include <algorithm>

#include "explain/gpu_facts.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
                                       "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_POWER_MGMT_LIMIT"};
constexpr Threshold kLimitLowered{
    "limit below default or peers", 0.05, "ratio",
    "NVML nvmlDeviceGetPowerManagementDefaultLimit is what the board is built for; 5 % is the "
    "error of the replay above which nothing is concluded"};
constexpr Threshold kCapNormal{
    "power at which a cap is normal", 0.9, "of the limit",
    "NVML nvmlClocksEventReasonSwPowerCap: clocks are reduced so as not to exceed the limit, so a "
    "working GPU at its limit is expected to show it"};
constexpr Threshold kThresholds[] = {kReasonActive, kLimitLowered, kCapNormal,
                                     kClockDrop,    kUnderLoad,    kPeerSpread};

struct Found {
  std::string gpu, why;
  double llr = 0;
  EvidenceRow row;
};

// A software power cap accuses only when the limit was lowered, or when it acts far below the
// limit.
void find_software_cap(const View& view, const std::vector<Gpu>& all, std::vector<Found>& found,
                       std::string& normal) {
  const auto shares = throttled(view, gpu_reason::kSoftwarePowerCap);
  for (const auto& r : active(shares)) {
    const Gpu* g = gpu_of(all, r.entity);
    if (g == nullptr) continue;
    const double expected = g->normal_limit_w, limit = g->power_limit_w, power = g->power_w.now;
    if (limit < (1 - kLimitLowered.value) * expected && g->under_load != false) {
      found.push_back({r.entity, fmt::format("is limited to {:.0f} of {:.0f} W", limit, expected),
                       kStrong,
                       fact("power limit lowered", "DCGM_FI_DEV_POWER_MGMT_LIMIT", r.entity, limit,
                            "W", true, expected)});
    } else if (power < kCapNormal.value * limit && g->under_load == true &&
               g->clock_mhz.now < (1 - kClockDrop.value) * g->normal_clock_mhz) {
      found.push_back({r.entity, fmt::format("is capped at {:.0f} of {:.0f} W", power, limit),
                       kPositive,
                       fact("capped far below its limit", "DCGM_FI_DEV_POWER_USAGE", r.entity,
                            power, "W", true, limit)});
    } else if (normal.empty() && power >= kCapNormal.value * limit) {
      normal = fmt::format("{} draws {:.0f} of its {:.0f} W: a power cap there is normal",
                           gpu_label(r.entity), power, limit);
    }
  }
}

Verdict test(const View& view) {
  const auto all = gpus(view);
  const auto brakes = of_job(view, throttled(view, gpu_reason::kPowerBrake));
  if (brakes.empty())
    return untested({"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "nvidia-smi -q -d PERFORMANCE,POWER"});
  const auto braked = active(brakes);

  std::vector<Found> found;
  std::string normal;
  for (const auto& r : braked)
    found.push_back({r.entity, "is held down by the power brake of the system's power supply",
                     kVeryStrong,
                     row("hardware power brake active", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
                         r.entity, r, "ratio", true)});
  if (found.empty()) find_software_cap(view, all, found, normal);

  Weighing w;
  const Stake s = stake_or_unexplained(view, kComputePhases);
  if (s.state != Stake::State::unknown || braked.empty()) w.gate(s);
  if (found.empty()) {
    w.contradicts(
        kStrong,
        !normal.empty()
            ? normal
            : fmt::format("no power brake and no lowered limit on {} GPUs", brakes.size()),
        fact("no power brake", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "", 0, "ratio", false));
    return std::move(w).verdict("", {});
  }
  const Found& worst = found.front();
  w.supports(worst.llr, worst.row);
  const Reading* brake = braked.empty() ? nullptr : of_entity(brakes, worst.gpu);
  if (brake != nullptr && brake->has_before() && brake->before >= brake->now / kRise.value) {
    w.contradicts(
        kPositive,
        fmt::format("the power brake of {} acted before as well, in {} of the samples",
                    gpu_label(worst.gpu), percent_text(brake->before)),
        row("as before", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", worst.gpu, *brake, "ratio", false));
  }
  double cost = kNaN;
  std::vector<std::string> names;
  for (const auto& f : found) names.push_back(f.gpu);
  if (const Gpu* g = gpu_of(all, worst.gpu)) {
    const double now = g->clock_mhz.now, usual = g->normal_clock_mhz;
    weigh_clock(w, *g);
    cost = clock_cost(view, now, usual);
    if (now < usual)
      w.link("Its clock is held down", gpu_label(worst.gpu),
             fmt::format("{:.0f} → {:.0f} MHz", usual, now));
  }
  weigh_place(w, view, worst.gpu);
  for (const auto& n : names) add_place(w, view, n);
  w.link("Power is limited", gpu_group(names), worst.why);
  std::string because = names.size() == 1
                            ? fmt::format("{} {}", gpu_label(worst.gpu), worst.why)
                            : fmt::format("each of {} {}", gpu_group(names), worst.why);
  Verdict v = std::move(w).verdict(because, {});
  limit_effect(v, cost);
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_gpu_power_cap{
    .id = "gpu.power_cap",
    .claim = "a power limit holds the clock of a GPU down",
    .decides =
        "power brake, lowered limits, and caps far below the limit; a cap at full power is normal",
    .accounts_for = kComputeOrUnexplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 6,
    .prior = 0,
    .test = test};

}  // namespace firstwait
