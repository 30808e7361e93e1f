#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "explain/gpu_facts.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {
    "node_hwmon_fan_rpm", "node_hwmon_temp_celsius", "node_hwmon_temp_crit_celsius",
    "node_edac_uncorrectable_errors_total", "node_edac_correctable_errors_total"};
constexpr Threshold kCorrectable{"correctable memory errors per day", 10, "events/day",
                                 "mcelog.conf: ce-error-threshold = 10 / 24h per DIMM"};
constexpr Threshold kUncorrectable{"uncorrectable memory errors", 1, "events",
                                   "mcelog.conf: uc-error-threshold = 1 / 24h per DIMM"};
constexpr Threshold kFan{
    "fan speed", 0, "rpm",
    "Linux hwmon ABI: fanN_input in rpm; a fan that turned and shows 0 has stopped"};
constexpr Threshold kThresholds[] = {kCorrectable, kUncorrectable, kFan};
constexpr Phase kPhasesExplained[] = {Phase::forward,    Phase::backward, Phase::optimizer,
                                      Phase::input_wait, Phase::host,     Phase::unexplained};

std::string sensor_of(const Reading& r) {
  std::string s;
  for (const auto& [k, v] : r.labels)
    if (k == "chip" || k == "sensor") s += (s.empty() ? "" : " ") + v;
  return s;
}

struct Fault {
  std::string host, what;
  double llr;
  EvidenceRow row;
};

void find_cooling(const View& view, std::vector<Fault>& faults, bool& watched) {
  for (const auto& r : gauge(view, "node_hwmon_fan_rpm")) {
    watched = true;
    if (r.now <= kFan.value && r.before > 0)
      faults.push_back(
          {r.entity,
           fmt::format("fan {} has stopped, it turned at {:.0f} rpm", sensor_of(r), r.before),
           kStrong, row("fan stopped", "node_hwmon_fan_rpm", r.entity, r, "rpm", true)});
  }
  const auto critical = gauge(view, "node_hwmon_temp_crit_celsius");
  for (const auto& r : gauge(view, "node_hwmon_temp_celsius")) {
    watched = true;
    for (const auto& c : critical)
      if (c.entity == r.entity && sensor_of(c) == sensor_of(r) && c.now > 0 && r.now >= c.now)
        faults.push_back(
            {r.entity,
             fmt::format("{} is at {:.0f} °C, critical is {:.0f} °C", sensor_of(r), r.now, c.now),
             kStrong,
             row("temperature at the critical mark", "node_hwmon_temp_celsius", r.entity, r, "°C",
                 true)});
  }
}

void find_memory(const View& view, std::vector<Fault>& faults, bool& watched) {
  for (const auto& r : sum_by_entity(rate(view, "node_edac_uncorrectable_errors_total"))) {
    watched = true;
    if (r.now_count >= kUncorrectable.value)
      faults.push_back({r.entity, fmt::format("{:.0f} uncorrectable memory errors", r.now_count),
                        kStrong,
                        row("uncorrectable memory errors", "node_edac_uncorrectable_errors_total",
                            r.entity, r, "1/s", true)});
  }
  for (const auto& r : sum_by_entity(rate(view, "node_edac_correctable_errors_total"))) {
    watched = true;
    if (r.now_count >= kCounted.value && r.now * 86400 >= kCorrectable.value)
      faults.push_back({r.entity,
                        fmt::format("{:.3g} correctable memory errors per day", r.now * 86400),
                        rose(r) == false ? kWeak : kPositive,
                        row("correctable memory errors", "node_edac_correctable_errors_total",
                            r.entity, r, "1/s", true)});
  }
  for (const std::string_view kind : {"mce", "hardware_error"})
    for (const auto* e : events(view, kind)) {
      watched = true;
      const auto what = e->attribute("message");
      faults.push_back(
          {e->entity,
           fmt::format("machine check: {}", what.empty() ? "no text" : what.substr(0, 80)),
           kPositive,
           fact("machine check exception", std::string(kind), e->entity, 1, "events", true)});
    }
}

Verdict test(const View& view) {
  std::vector<Fault> faults;
  bool watched = false;
  find_cooling(view, faults, watched);
  find_memory(view, faults, watched);
  if (!watched)
    return untested(
        {"node_hwmon_temp_celsius", "node_hwmon_fan_rpm", "node_edac_correctable_errors_total"});
  const auto hosts = job_hosts(view);
  std::erase_if(faults, [&](const Fault& f) {
    return !hosts.empty() &&
           std::find(hosts.begin(), hosts.end(), host_name(f.host)) == hosts.end();
  });
  Weighing w;
  if (faults.empty()) {
    w.contradicts(kStrong, "fans turn, temperatures are below critical, memory is without errors",
                  fact("hardware faults", "hwmon, EDAC", "", 0, "faults", false));
    return std::move(w).verdict("", {});
  }
  std::stable_sort(faults.begin(), faults.end(), [&](const Fault& a, const Fault& b) {
    const bool x = is_slow_place(view, a.host) == true, y = is_slow_place(view, b.host) == true;
    return x != y ? x : a.llr > b.llr;
  });
  const Fault& f = faults.front();
  w.gate(stake_or_unexplained(view, std::array{Phase::forward, Phase::backward, Phase::optimizer,
                                               Phase::input_wait, Phase::host}));
  w.supports(f.llr, f.row);
  weigh_place(w, view, f.host);
  add_place(w, view, f.host);
  w.link("The machine reports a fault", std::string(id_of(f.host)), f.what);
  return std::move(w).verdict(fmt::format("on {} {}", id_of(f.host), f.what), {});
}

}  // namespace

extern const Hypothesis hypothesis_node_physical{
    .id = "node.physical",
    .claim = "cooling, power or memory of a machine is faulty",
    .decides = "fans, temperatures at their critical mark, memory errors, machine checks",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 6,
    .prior = 0,
    .test = test};

}  // namespace firstwait
