#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "explain/placing.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"node_cpu_scaling_frequency_hertz",
                                       "node_cpu_core_throttles_total", "node_cpu_seconds_total"};
constexpr Threshold kLow{"frequency below normal", 0.1, "ratio",
                         "Linux cpufreq: turbo steps move the frequency by a few percent with "
                         "load; a tenth is more than a step"};
constexpr Threshold kBusy{
    "CPU in use", 0.1, "ratio",
    "Linux cpufreq governors lower the frequency of idle CPUs: only a working CPU is judged"};
constexpr Threshold kThresholds[] = {kLow, kBusy, kCounted, kRise};
constexpr Phase kPhasesExplained[] = {Phase::input_wait, Phase::host, Phase::h2d,
                                      Phase::unexplained};

double busy(const View& view, const std::string& host) {
  double idle = 0, all = 0;
  for (const auto& r : rate(view, "node_cpu_seconds_total")) {
    if (r.entity != host) continue;
    all += r.now;
    for (const auto& [k, v] : r.labels)
      if (k == "mode" && (v == "idle" || v == "iowait")) idle += r.now;
  }
  return all > 0 ? 1 - idle / all : kNaN;
}

Verdict test(const View& view) {
  std::vector<Reading> clock = mean_by_entity(gauge(view, "node_cpu_scaling_frequency_hertz"));
  if (clock.empty()) clock = mean_by_entity(gauge(view, "node_cpu_frequency_hertz"));
  // Idle CPUs are slow on purpose.
  std::erase_if(clock, [&](const Reading& r) { return !(busy(view, r.entity) >= kBusy.value); });
  auto throttles = sum_by_entity(rate(view, "node_cpu_core_throttles_total"));
  for (const auto& p : sum_by_entity(rate(view, "node_cpu_package_throttles_total")))
    throttles.push_back(p);
  if (clock.empty() && throttles.empty())
    return untested(
        {"node_cpu_scaling_frequency_hertz of a busy CPU", "node_cpu_core_throttles_total"});
  Weighing w;
  const Stake s =
      stake_or_unexplained(view, std::array{Phase::input_wait, Phase::host, Phase::h2d});
  w.gate(s);
  std::string because, host;
  double now = kNaN, normal = kNaN;
  for (const auto& r : clock) {
    std::vector<double> peers;
    for (const auto& o : clock)
      if (o.entity != r.entity) peers.push_back(o.now);
    const double usual = r.has_before() ? r.before : peers.size() >= 2 ? median_of(peers) : kNaN;
    if (usual == usual && !(now / normal <= r.now / usual)) {
      now = r.now;
      normal = usual;
      host = r.entity;
    }
  }
  const auto numbers = [&](bool for_it) {
    return fact("CPU frequency", "node_cpu_scaling_frequency_hertz", host, now, "Hz", for_it,
                normal);
  };
  if (now < (1 - kLow.value) * normal) {
    because = fmt::format("the CPUs of {} run at {:.2g} instead of {:.2g} GHz", id_of(host),
                          now * 1e-9, normal * 1e-9);
    w.supports(kPositive, numbers(true));
  } else if (now == now) {
    w.contradicts(kPositive,
                  fmt::format("the CPUs of {} run at {:.2g} of {:.2g} GHz", id_of(host), now * 1e-9,
                              normal * 1e-9),
                  numbers(false));
  }
  const Reading* hot = nullptr;
  for (const auto& t : throttles)
    if (t.now_count >= kCounted.value && rose(t) != false && (hot == nullptr || t.now > hot->now))
      hot = &t;
  if (hot != nullptr && (because.empty() || hot->entity == host)) {
    host = hot->entity;
    if (because.empty())
      because = fmt::format("the CPUs of {} were throttled {:.0f} times by heat", id_of(host),
                            hot->now_count);
    w.supports(kPositive, row("CPU thermal throttling", "node_cpu_core_throttles_total", host, *hot,
                              "1/s", true));
  } else if (because.empty() && !throttles.empty()) {
    w.contradicts(kPositive, "no CPU was throttled by heat more than before",
                  row("CPU thermal throttling", "node_cpu_core_throttles_total",
                      throttles.front().entity, throttles.front(), "1/s", false));
  }
  if (!because.empty()) {
    weigh_place(w, view, host);
    add_place(w, view, host);
    w.link("The CPUs are held down", std::string(id_of(host)),
           now == now ? fmt::format("{:.2g} → {:.2g} GHz", normal * 1e-9, now * 1e-9) : "");
  }
  Verdict v = std::move(w).verdict(
      because,
      {"node_cpu_scaling_frequency_hertz of a time when the job was fast, or of three hosts"});
  if (now < normal) limit_effect(v, s.now_s * (1 - now / normal));
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_node_cpu_clock{
    .id = "node.cpu_clock",
    .claim = "the CPU frequency of a host is held down",
    .decides = "frequency of busy CPUs against their past and other hosts, thermal throttling",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 6,
    .prior = 0,
    .test = test};

}  // namespace firstwait
