#include <fmt/format.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "explain/placing.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"nccl.transport", "nccl.network", "env.NCCL_IB_DISABLE",
                                       "nccl.gdr"};
constexpr Threshold kHosts{"hosts", 2, "hosts",
                           "NCCL user guide: NET transports connect GPUs of different hosts"};
constexpr Threshold kThresholds[] = {kHosts};
constexpr Phase kPhasesExplained[] = {Phase::collective, Phase::p2p, Phase::unexplained};

bool is_true(std::string_view v) {
  return !v.empty() && v != "0" && !contains_ignoring_case(v, "false") &&
         !contains_ignoring_case(v, "off");
}

struct Transport {
  bool socket = false, rdma = false;
  bool channels_known = false, crosses_network = false;  // from the channels NCCL opened
  std::string entity, value;
  std::set<std::string> entities;  // all that use sockets
  std::string rdma_entity;         // one that uses RDMA
};
// What NCCL said it uses between hosts.
Transport transport(const View& view) {
  Transport t;
  for (const std::string_view key : {"nccl.transport", "nccl.network", "nccl.net"})
    for (const auto* s : settings(view, key)) {
      if (key == "nccl.transport") {
        t.channels_known = true;
        t.crosses_network |= contains(s->value, "NET/");
      }
      const bool socket = contains_ignoring_case(s->value, "socket");
      if (contains_ignoring_case(s->value, "IB") || contains_ignoring_case(s->value, "OFI") ||
          contains_ignoring_case(s->value, "libfabric")) {
        t.rdma = true;
        // What NCCL opened; that it chose a network says nothing of the channels.
        if (key == "nccl.transport") t.rdma_entity = s->entity;
      }
      if (socket) t.entities.insert(s->entity);
      if (socket && !t.socket) {
        t.socket = true;
        t.entity = s->entity;
        // "NET/Socket,P2P": what connects the GPUs of one host is no matter here.
        for (const auto piece : split(s->value, ','))
          if (contains_ignoring_case(piece, "socket")) t.value = trim(piece);
      }
      if (!socket && t.entity.empty()) t.entity = s->entity;
    }
  return t;
}

// Each rank and its host, or only the hosts where ranks are many.
void add_places(Weighing& w, const View& view, const std::set<std::string>& entities) {
  constexpr size_t kListed = 8;
  std::vector<std::string> hosts;
  for (const std::string& entity : entities) {
    const auto rank =
        entity.starts_with("rank/") ? parse_int(std::string_view(entity).substr(5)) : std::nullopt;
    const bool known = rank && *rank >= 0 && *rank <= INT32_MAX;
    std::string host = known ? host_entity(view, static_cast<int32_t>(*rank)) : "";
    if (host.empty() || entities.size() <= kListed) w.where(entity);
    if (!host.empty()) hosts.push_back(std::move(host));
  }
  for (std::string& host : hosts) w.where(std::move(host));
}

// Ports that NCCL or the node lists, whether or not they are used.
bool has_rdma_ports(const View& view) {
  for (const auto* s : settings(view, "nccl.interfaces"))
    if (contains(s->value, "/IB") || contains(s->value, "/RoCE")) return true;
  if (has_metric(view, "node_infiniband_rate_bytes_per_second") ||
      has_metric(view, "node_infiniband_port_data_transmitted_bytes_total"))
    return true;
  for (const auto* s : settings_with_prefix(view, "nic."))
    if (s->entity.find(":mlx") != std::string::npos || s->entity.find(":ib") != std::string::npos)
      return true;
  return false;
}

Verdict test(const View& view) {
  const Transport t = transport(view);
  const Setting* disabled = nullptr;
  std::set<std::string> forbidden, indirect;
  for (const auto* s : settings(view, "env.NCCL_IB_DISABLE"))
    if (is_true(s->value)) disabled = s, forbidden.insert(s->entity);
  for (const auto* s : settings(view, "env.NCCL_NET"))
    if (contains_ignoring_case(s->value, "socket")) disabled = s, forbidden.insert(s->entity);
  for (const auto* s : settings(view, "nccl.gdr"))
    if (!is_true(s->value)) indirect.insert(s->entity);
  const bool direct_known = !settings(view, "nccl.gdr").empty();
  if (!t.socket && !t.rdma && disabled == nullptr && !direct_known)
    return untested({"NCCL_DEBUG=INFO log", "the environment of the ranks (NCCL_*)"});

  Weighing w;
  const Stake s = stake_or_unexplained(view, std::array{Phase::collective, Phase::p2p});
  w.gate(s);
  std::string because;
  const auto hosts = job_hosts(view).size();
  if (hosts > 0 && static_cast<double>(hosts) < kHosts.value)
    w.contradicts(
        kVeryStrong, "all ranks are on one host: NCCL needs no network",
        fact("hosts of the job", "rank placement", "", static_cast<double>(hosts), "hosts", false));
  if (t.channels_known && !t.crosses_network)
    w.contradicts(kVeryStrong, "no channel of NCCL goes over the network",
                  fact("channels over the network", "nccl.transport", "", 0, "channels", false));
  if (t.socket) {
    because = fmt::format("NCCL uses {} between hosts", t.value);
    // Where there is nothing better, sockets are right: that they are the fault needs a reason.
    const bool better = has_rdma_ports(view) || !t.rdma_entity.empty() || disabled != nullptr;
    w.supports(better ? kPositive : kWeak,
               fact("transport " + t.value, "nccl.transport", t.entity, kNaN, "", true));
    add_places(w, view, t.entities);
    if (has_rdma_ports(view))
      w.hints(kPositive, fact("RDMA ports are there", "node_infiniband_rate_bytes_per_second", "",
                              kNaN, "", true));
    if (!t.rdma_entity.empty())
      w.hints(kPositive,
              fact("others of the job use RDMA", "nccl.transport", t.rdma_entity, kNaN, "", true));
    w.link("Collectives go through sockets", "between hosts", t.value);
  }
  if (disabled != nullptr) {
    const auto variable =
        fmt::format("{}={}", disabled->key.substr(disabled->key.find('.') + 1), disabled->value);
    if (t.rdma && !t.socket) {
      w.contradicts(kWeak, fmt::format("NCCL uses RDMA although {} is set", variable),
                    fact(variable, disabled->key, disabled->entity, kNaN, "", false));
    } else {
      because =
          because.empty() ? variable + " forbids RDMA" : fmt::format("{} ({})", because, variable);
      w.supports(kPositive, fact(variable, disabled->key, disabled->entity, kNaN, "", true));
      if (t.entities.empty()) add_places(w, view, forbidden);
    }
  }
  if (!indirect.empty() && t.rdma && !t.socket) {
    because = "NCCL uses RDMA without GPUDirect: data goes through host memory";
    w.supports(kPositive,
               fact("GPUDirect RDMA is off", "nccl.gdr", *indirect.begin(), kNaN, "", true));
    add_places(w, view, indirect);
    w.link("Collectives go through host memory", "between hosts", "no GPUDirect RDMA");
  }
  if (because.empty())
    w.contradicts(kStrong, direct_known ? "NCCL uses RDMA with GPUDirect" : "NCCL uses RDMA",
                  fact("transport RDMA", "nccl.transport", t.entity, kNaN, "", false));
  weigh_transfer(w, view);
  Verdict v = std::move(w).verdict(because, {"NCCL_DEBUG=INFO log"});
  limit_effect(v, view.attribution.collective_transfer_s);
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_network_wrong_transport{
    .id = "network.wrong_transport",
    .claim = "NCCL does not use the fast network: sockets, InfiniBand disabled, GPUDirect off",
    .decides = "NCCL's log and NCCL_* variables, with more than one host",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 3,
    .prior = 0,
    .test = test};

}  // namespace firstwait
