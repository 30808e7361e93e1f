#include <fmt/format.h>

#include <array>
#include <map>

#include "base/text.h"
#include "explain/placing.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"numa.gpu", "numa.nic", "env.NCCL_SOCKET_IFNAME",
                                       "nic.speed"};
constexpr Threshold kSameNode{
    "NUMA nodes between GPU and NIC", 0, "nodes",
    "NCCL user guide, NCCL_NET_GDR_LEVEL: the path SYS crosses the link between NUMA nodes"};
constexpr Threshold kSlower{"speed of the chosen interface", 0.9, "ratio",
                            "link rates step by factors (IEEE 802.3)"};
constexpr Threshold kThresholds[] = {kSameNode, kSlower};
constexpr Phase kPhasesExplained[] = {Phase::collective, Phase::p2p, Phase::unexplained};

std::map<std::string, std::string> by_entity(const View& view, std::string_view key) {
  std::map<std::string, std::string> out;
  for (const auto* s : settings(view, key))
    if (!s->value.empty() && s->value != "-1") out[s->entity] = s->value;
  return out;
}

// Speeds of all ports of a host in bytes/s or whatever nic.speed says; one kind only, so that they
// compare.
std::map<std::string, double> speeds(const View& view, const std::string& host) {
  std::map<std::string, double> out;
  for (const auto& r : gauge(view, "node_network_speed_bytes"))
    if (const auto port = port_of(r); host_name(port) == host && r.now > 0) out[port] = r.now;
  if (!out.empty()) return out;
  for (const auto* s : settings(view, "nic.speed"))
    if (const auto v = parse_double(s->value); host_name(s->entity) == host && v && *v > 0)
      out[s->entity] = *v;
  return out;
}

struct Slow {
  std::string port, faster;
  double own = 0, best = 0;
};
// The interface that a rank was told to use, when the host has a faster one.
Slow chosen_interface(const View& view, bool& watched) {
  Slow worst;
  for (const auto* s : settings(view, "env.NCCL_SOCKET_IFNAME")) {
    if (s->value.empty() || s->value.front() == '^') continue;
    const auto first = std::string(split(s->value, ',').front());
    const auto name = first.substr(
        first.find_first_not_of('=') == std::string::npos ? 0 : first.find_first_not_of('='));
    std::string host = host_name(s->entity);
    if (host.empty() && s->entity.starts_with("rank/"))
      if (const auto r = parse_int(s->entity.substr(5)))
        host = std::string(id_of(host_entity(view, static_cast<int32_t>(*r))));
    const auto all = speeds(view, host);
    Slow c;
    for (const auto& [port, speed] : all) {
      if (port.substr(port.find(':') + 1).starts_with(name) && speed > c.own) {
        c.port = port;
        c.own = speed;
      }
      if (speed > c.best) {
        c.best = speed;
        c.faster = port;
      }
    }
    if (c.port.empty() || all.size() < 2) continue;
    watched = true;
    if (c.own < kSlower.value * c.best &&
        (worst.port.empty() || c.own / c.best < worst.own / worst.best))
      worst = c;
  }
  return worst;
}

Verdict test(const View& view) {
  const auto gpu = by_entity(view, "numa.gpu"), nic = by_entity(view, "numa.nic");
  std::string far;
  size_t compared = 0, apart = 0;
  for (const auto& [entity, node] : gpu) {
    const auto it = nic.find(entity);
    if (it == nic.end()) continue;
    ++compared;
    if (it->second == node) continue;
    ++apart;
    if (far.empty() || is_slow_place(view, entity) == true) far = entity;
  }
  bool watched = false;
  const Slow slow = chosen_interface(view, watched);
  if (compared == 0 && !watched)
    return untested(
        {"numa.gpu and numa.nic of each rank", "NCCL_SOCKET_IFNAME and the speed of each port"});
  Weighing w;
  w.gate(stake_or_unexplained(view, std::array{Phase::collective, Phase::p2p}));
  std::string because;
  if (!slow.port.empty()) {
    because = fmt::format("NCCL_SOCKET_IFNAME chooses {}, {} is {:.0f} times as fast",
                          id_of(slow.port), id_of(slow.faster), slow.best / slow.own);
    w.supports(kStrong, fact("speed of the chosen interface", "nic.speed", slow.port, slow.own, "",
                             true, slow.best));
    add_place(w, view, slow.port);
    w.link("A slower interface is chosen", std::string(id_of(slow.port)), "");
  }
  if (!far.empty()) {
    if (because.empty())
      because = fmt::format("GPU and NIC of {} are on different NUMA nodes ({} and {})", far,
                            gpu.at(far), nic.at(far));
    // Some ranks near, others far: a binding went wrong. All far may be how the machine is built.
    w.supports(apart < compared ? kPositive : kWeak,
               fact("ranks whose NIC is far from their GPU", "numa.nic", far,
                    static_cast<double>(apart), "ranks", true));
    w.where(far);
    w.link("The NIC is far from the GPU", far,
           fmt::format("NUMA {} → {}", gpu.at(far), nic.at(far)));
  }
  if (because.empty())
    w.contradicts(kStrong,
                  compared > 0
                      ? fmt::format("GPU and NIC share a NUMA node on all {} ranks", compared)
                      : "the chosen interface is the fastest",
                  fact("far NICs", "numa.nic", "", 0, "ranks", false));
  weigh_transfer(w, view);
  return std::move(w).verdict(because, {});
}

}  // namespace

extern const Hypothesis hypothesis_network_topology_mismatch{
    .id = "network.topology_mismatch",
    .claim = "a GPU uses a far NIC, or a slower interface than the host has",
    .decides = "NUMA nodes of GPU and NIC, the chosen interface against the others of its host",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 3,
    .prior = 0,
    .test = test};

}  // namespace firstwait
