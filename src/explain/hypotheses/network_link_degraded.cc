#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "explain/placing.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"node_network_speed_bytes",
                                       "node_infiniband_rate_bytes_per_second", "nic.speed"};
constexpr Threshold kSlower{"speed against equal ports", 0.9, "ratio",
                            "link rates step by factors (IEEE 802.3 and InfiniBand rates): "
                            "anything below 90 % is another rate"};
constexpr Threshold kPeers{"least equal ports", 2, "ports",
                           "with one peer it is not known which of the two is right"};
constexpr Threshold kThresholds[] = {kSlower, kPeers};
constexpr Phase kPhasesExplained[] = {Phase::collective, Phase::p2p, Phase::input_wait,
                                      Phase::unexplained};

struct Port {
  std::string port, metric;
  double now = kNaN, before = kNaN, maximum = kNaN;
  bool down = false;
};

double number_of(std::string_view text) {
  text = trim(text);
  return parse_double(text.substr(0, text.find_first_not_of("0123456789."))).value_or(kNaN);
}

std::vector<Port> ports(const View& view) {
  std::map<std::string, Port> out;
  for (const std::string_view name :
       {"node_network_speed_bytes", "node_infiniband_rate_bytes_per_second"})
    for (const auto& r : gauge(view, name))
      // The kernel reports -1 for "unknown".
      if (r.now > 0) out[port_of(r)] = {port_of(r), std::string(name), r.now, r.before};
  for (const auto* s : settings(view, "nic.speed")) {
    auto& p = out[s->entity];
    if (p.now == p.now) continue;
    p = {s->entity, "nic.speed", number_of(s->value)};
  }
  for (const auto* s : settings(view, "nic.speed_max"))
    out[s->entity].maximum = number_of(s->value);
  for (const std::string_view key : {"nic.state", "nic.operstate"})
    for (const auto* s : settings(view, key)) {
      auto& p = out[s->entity];
      p.port = s->entity;
      p.down = contains_ignoring_case(s->value, "down");
    }
  std::vector<Port> list;
  for (auto& [id, p] : out)
    if (!p.port.empty()) list.push_back(std::move(p));
  return list;
}

// Ports that should be alike: the same device on other hosts.
std::string device_of(const std::string& port) {
  return port.substr(std::min(port.size(), port.find(':') + 1));
}

struct Finding {
  const Port* port = nullptr;
  double usual = kNaN, llr = 0;
  std::string why;
};

std::string gigabits(const Port& p, double value) {
  return p.metric == "nic.speed" ? fmt::format("{:.0f}", value)
                                 : fmt::format("{:.0f} Gbit/s", value * 8e-9);
}

Finding judge(const Port& p, const std::vector<Port>& all) {
  Finding f{&p, kNaN, 0, ""};
  std::vector<double> peers;
  size_t peers_up = 0;
  for (const auto& o : all) {
    if (&o == &p || p.port.find(':') == std::string::npos || device_of(o.port) != device_of(p.port))
      continue;
    peers_up += o.down ? 0 : 1;
    if (o.metric == p.metric) peers.push_back(o.now);
  }
  const auto name = id_of(p.port);
  if (p.down) {
    if (static_cast<double>(peers_up) >= kPeers.value)
      f = {&p, kNaN, kStrong,
           fmt::format("{} is down, the same port of {} other hosts is up", name, peers_up)};
  } else if (p.before > 0 && p.now < kSlower.value * p.before) {
    f = {&p, p.before, kVeryStrong,
         fmt::format("{} fell from {} to {}", name, gigabits(p, p.before), gigabits(p, p.now))};
  } else if (p.maximum > 0 && p.now < kSlower.value * p.maximum) {
    f = {&p, p.maximum, kStrong,
         fmt::format("{} runs at {}, it can do {}", name, gigabits(p, p.now),
                     gigabits(p, p.maximum))};
  } else if (static_cast<double>(peers.size()) >= kPeers.value) {
    const double usual = median_of(peers);
    f.usual = usual;
    if (p.now < kSlower.value * usual)
      f = {&p, usual, kStrong,
           fmt::format("{} runs at {}, the same port of {} other hosts at {}", name,
                       gigabits(p, p.now), peers.size(), gigabits(p, usual))};
  }
  return f;
}

Verdict test(const View& view) {
  const auto all = ports(view);
  Finding worst;
  size_t compared = 0;
  for (const auto& p : all) {
    const Finding f = judge(p, all);
    compared +=
        f.llr > 0 || f.usual == f.usual || p.before == p.before || p.maximum == p.maximum ? 1 : 0;
    if (f.llr > worst.llr) worst = f;
  }
  if (compared == 0)
    return untested(
        {"node_network_speed_bytes or node_infiniband_rate_bytes_per_second of at least three "
         "hosts"});
  Weighing w;
  const Stake s =
      stake_or_unexplained(view, std::array{Phase::collective, Phase::p2p, Phase::input_wait});
  w.gate(s);
  if (worst.port == nullptr) {
    w.contradicts(
        kStrong, fmt::format("all {} ports run at the speed of their peers", compared),
        fact("link speed", all.front().metric, all.front().port, all.front().now, "", false));
    return std::move(w).verdict("", {});
  }
  const Port& p = *worst.port;
  w.supports(worst.llr,
             fact(p.down ? "port down" : "link speed", p.metric.empty() ? "nic.state" : p.metric,
                  p.port, p.now, p.metric == "nic.speed" ? "" : "bytes/s", true, worst.usual));
  weigh_transfer(w, view);
  add_place(w, view, p.port);
  w.link(p.down ? "A port is down" : "A link is slow", std::string(id_of(p.port)),
         p.down ? "" : gigabits(p, p.now));
  Verdict v = std::move(w).verdict(worst.why, {});
  if (worst.usual > p.now) limit_effect(v, s.now_s * (1 - p.now / worst.usual));
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_network_link_degraded{
    .id = "network.link_degraded",
    .claim = "a link runs slower than it did, than it can, or than the same port of other hosts",
    .decides = "rate of each port against its past, its maximum and equal ports",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 3,
    .prior = 0,
    .test = test};

}  // namespace firstwait
