#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "explain/placing.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"node_infiniband_port_data_transmitted_bytes_total",
                                       "node_infiniband_rate_bytes_per_second"};
constexpr Threshold kBusiest{
    "busiest port over mean", 2, "ratio",
    "a transfer ends when its busiest port ends: at 2 it takes twice as long as if spread evenly"};
constexpr Threshold kUsed{"use of the busiest port", 0.5, "of its rate",
                          "at even spread a port below half its rate would at most be full at "
                          "twice the traffic: not the limit"};
constexpr Threshold kThresholds[] = {kBusiest, kUsed};
constexpr Phase kPhasesExplained[] = {Phase::collective, Phase::p2p, Phase::unexplained};

struct Uneven {
  std::string port;
  double rate = 0, mean = 0, use = kNaN, before_ratio = kNaN;
  size_t ports = 0;
  double ratio() const { return mean > 0 ? rate / mean : 0; }
};

// Only RDMA ports of one rate on one host: Ethernet ports of a host serve different purposes.
std::vector<Uneven> uneven(const View& view) {
  std::map<std::string, double> rates;
  for (const auto& r : gauge(view, "node_infiniband_rate_bytes_per_second"))
    rates[port_of(r)] = r.now;
  std::map<std::pair<std::string, double>, std::vector<Reading>> groups;
  for (auto r : rate(view, "node_infiniband_port_data_transmitted_bytes_total")) {
    const auto port = port_of(r);
    const auto it = rates.find(port);
    r.entity = port;
    if (it != rates.end()) groups[{host_name(port), it->second}].push_back(std::move(r));
  }
  std::vector<Uneven> out;
  for (const auto& [key, ports] : groups) {
    if (ports.size() < 2) continue;
    Uneven u;
    double before_sum = 0, before_most = 0;
    for (const auto& p : ports) {
      u.mean += p.now / static_cast<double>(ports.size());
      before_sum += p.before;
      before_most = std::max(before_most, p.before);
      if (p.now > u.rate) {
        u.rate = p.now;
        u.port = p.entity;
      }
    }
    u.ports = ports.size();
    u.use = key.second > 0 ? u.rate / key.second : kNaN;
    if (before_sum > 0)
      u.before_ratio = before_most * static_cast<double>(ports.size()) / before_sum;
    if (u.rate > 0) out.push_back(u);
  }
  return out;
}

Verdict test(const View& view) {
  auto all = uneven(view);
  if (all.empty())
    return untested(
        {"node_infiniband_port_data_transmitted_bytes_total and _rate_ of several ports of a "
         "host"});
  const auto worst =
      *std::max_element(all.begin(), all.end(),
                        [](const Uneven& a, const Uneven& b) { return a.ratio() < b.ratio(); });
  Weighing w;
  w.gate(stake_or_unexplained(view, std::array{Phase::collective, Phase::p2p}));
  const auto numbers = [&](bool for_it) {
    return fact("busiest port over the mean of its host",
                "node_infiniband_port_data_transmitted_bytes_total", worst.port, worst.ratio(),
                "ratio", for_it, worst.before_ratio);
  };
  if (worst.ratio() < kBusiest.value) {
    w.contradicts(
        kStrong,
        fmt::format("the busiest port carries {:.1f} times the mean of its host", worst.ratio()),
        numbers(false));
  } else if (worst.use < kUsed.value) {
    w.contradicts(
        kPositive,
        fmt::format("the busiest port {} is {} used", id_of(worst.port), percent_text(worst.use)),
        numbers(false));
  } else {
    w.supports(kPositive, numbers(true));
    if (worst.before_ratio > 0 && worst.ratio() < 1.5 * worst.before_ratio)
      w.contradicts(kPositive,
                    fmt::format("the ports were as uneven before ({:.1f} times the mean)",
                                worst.before_ratio),
                    numbers(false));
    else if (worst.before_ratio > 0)
      w.hints(kPositive, fact("more uneven than before", "", worst.port, worst.ratio(), "ratio",
                              true, worst.before_ratio));
    add_place(w, view, worst.port);
    w.link("One port carries the traffic of several", std::string(id_of(worst.port)),
           bytes_rate_text(worst.rate));
  }
  weigh_transfer(w, view);
  Verdict v = std::move(w).verdict(
      fmt::format("{} carries {:.1f} times the mean of the {} ports of its host, at {} of its rate",
                  id_of(worst.port), worst.ratio(), worst.ports, percent_text(worst.use)),
      {});
  limit_effect(v, stake(view, {Phase::collective, Phase::p2p}).now_s * (1 - 1 / worst.ratio()));
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_network_traffic_imbalance{
    .id = "network.traffic_imbalance",
    .claim = "traffic is spread unevenly over the ports of a host",
    .decides = "bytes per port against the mean of the host's equal ports, and their use",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 3,
    .prior = 0,
    .test = test};

}  // namespace firstwait
