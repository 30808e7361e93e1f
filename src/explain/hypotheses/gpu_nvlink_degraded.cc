#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "explain/gpu_facts.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
                                       "nvlink.links_active", "xid events"};
constexpr Threshold kCrcRate{
    "CRC errors per second", 100, "events/s",
    "NVIDIA DCGM, dcgm_gpu_hardware_limits.h: CRC errors only matter from 100 per second"};
constexpr Threshold kAnyRecovery{
    "replay or recovery errors", 1, "events",
    "NVIDIA DCGM health check: fails on any NVLink replay or recovery error"};
constexpr Threshold kInactive{
    "inactive links", 0, "links",
    "NVIDIA Health Validation, nvlink_active: no inactive NVLink is tolerated"};
constexpr Threshold kThresholds[] = {kCrcRate, kAnyRecovery, kInactive};
constexpr Phase kPhasesExplained[] = {Phase::collective, Phase::p2p, Phase::unexplained};

struct Fault {
  std::string gpu, what;
  double llr = 0;
  EvidenceRow row;
};

void find_counters(const View& view, std::vector<Fault>& faults, bool& watched,
                   std::string& clear) {
  for (const std::string_view name : {"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
                                      "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL"}) {
    for (const auto& r : of_job(view, sum_by_entity(rate(view, name)))) {
      watched = true;
      if (r.now >= kCrcRate.value) {
        faults.push_back(
            {r.entity, fmt::format("{:.0f} CRC errors per second on NVLink", r.now),
             rose(r) == false ? kPositive : kStrong,
             row("NVLink CRC errors", std::string(name), r.entity, r, "events/s", true)});
      } else if (clear.empty()) {
        clear = fmt::format("{:.1f} CRC errors per second on NVLink, 100 would matter", r.now);
      }
    }
  }
  for (const std::string_view name : {"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL",
                                      "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL"}) {
    for (const auto& r : of_job(view, sum_by_entity(rate(view, name)))) {
      watched = true;
      if (r.now_count >= kAnyRecovery.value && !(r.before >= r.now / kRise.value && r.before > 0))
        faults.push_back({r.entity, fmt::format("{:.0f} NVLink replays or recoveries", r.now_count),
                          kPositive,
                          row("NVLink replays or recoveries", std::string(name), r.entity, r,
                              "events/s", true)});
      else if (clear.empty())
        clear = fmt::format("{:.0f} NVLink replays or recoveries", r.now_count);
    }
  }
}

// Links that are down, told by the device or by peers of the same model that have more.
void find_links(const View& view, std::vector<Fault>& faults, bool& watched, std::string& clear) {
  std::map<std::string, double> active_links;
  std::map<std::string, std::string> models;
  std::vector<std::string_view> keys = {"nvlink.links_active", "nvlink.active_links"};
  for (const auto key : keys)
    for (const auto* s : settings(view, key))
      if (const auto n = parse_int(s->value); n && *n >= 0 && *n < 1000)
        active_links[s->entity] = static_cast<double>(*n);
  for (const auto* s : settings(view, "gpu.model")) models[s->entity] = s->value;
  const GpuNumbers totals(view, {"nvlink.links", "nvlink.links_total"});
  std::map<std::string, double> most;
  for (const auto& [gpu, n] : active_links) most[models[gpu]] = std::max(most[models[gpu]], n);
  for (const auto& [gpu, n] : active_links) {
    watched = true;
    const double own_total = totals.of(gpu);
    const double total = own_total == own_total ? own_total : most[models[gpu]];
    // None at all is another cause: gpu.nvlink_absent.
    if (n > 0 && total - n > kInactive.value) {
      faults.push_back(
          {gpu, fmt::format("{:.0f} of {:.0f} NVLinks are active", n, total), kStrong,
           fact("NVLinks active", "nvlink.links_active", gpu, n, "links", true, total)});
    } else if (clear.empty()) {
      clear = fmt::format("all {:.0f} NVLinks of {} are active", n, gpu_label(gpu));
    }
  }
}

Verdict test(const View& view) {
  std::vector<Fault> faults;
  bool watched = false;
  std::string clear;
  find_links(view, faults, watched, clear);
  find_counters(view, faults, watched, clear);
  for (const auto* e : events(view, "xid"))
    if (e->attribute("code") == "74" || e->attribute("xid") == "74")
      faults.push_back({e->entity, "Xid 74: NVLink error", kPositive,
                        fact("Xid 74: NVLink error", "xid", e->entity, 1, "events", true)});
  if (!watched && faults.empty())
    return untested(
        {"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "nvidia-smi nvlink --status"});
  std::stable_sort(faults.begin(), faults.end(),
                   [](const Fault& a, const Fault& b) { return a.llr > b.llr; });
  Weighing w;
  w.gate(stake_or_unexplained(view, std::array{Phase::collective, Phase::p2p}));
  if (faults.empty()) {
    w.contradicts(kStrong, clear, fact("NVLink in order", "nvlink", "", 0, "errors", false));
    return std::move(w).verdict("", {});
  }
  const Fault& worst = faults.front();
  w.supports(worst.llr, worst.row);
  for (size_t i = 1; i < std::min<size_t>(faults.size(), 3); ++i)
    if (faults[i].gpu == worst.gpu) w.hints(kWeak, faults[i].row);
  weigh_transfer(w, view);
  add_place(w, view, worst.gpu);
  w.link("NVLink is impaired", gpu_label(worst.gpu), worst.what);
  Verdict v = std::move(w).verdict(fmt::format("{}: {}", gpu_label(worst.gpu), worst.what), {});
  limit_effect(v, view.attribution.collective_transfer_s);
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_gpu_nvlink_degraded{
    .id = "gpu.nvlink_degraded",
    .claim = "an NVLink is down or faulty",
    .decides = "active links against their number, CRC, replay and recovery errors, Xid 74",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 6,
    .prior = 0,
    .test = test};

}  // namespace firstwait
