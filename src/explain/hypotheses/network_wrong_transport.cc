#include <fmt/format.h>

#include <array>
#include <set>
#include <string>

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
          contains_ignoring_case(s->value, "libfabric"))
        t.rdma = true;
      if (socket) t.entities.insert(s->entity);
      if (socket && !t.socket) {
        t.socket = true;
        t.entity = s->entity;
        t.value = s->value;
      }
      if (!socket && t.entity.empty()) t.entity = s->entity;
    }
  return t;
}

// Each rank, or each host where they are many.
void add_places(Weighing& w, const View& view, const std::set<std::string>& entities) {
  constexpr size_t kListed = 8;
  for (const std::string& entity : entities) {
    const auto rank =
        entity.starts_with("rank/") ? parse_int(std::string_view(entity).substr(5)) : std::nullopt;
    const bool by_host = entities.size() > kListed && rank && *rank >= 0 && *rank <= INT32_MAX;
    const std::string host = by_host ? host_entity(view, static_cast<int32_t>(*rank)) : "";
    w.where(host.empty() ? entity : host);
  }
}

bool has_rdma_ports(const View& view) {
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
  const Setting *disabled = nullptr, *direct = nullptr;
  std::set<std::string> forbidden;
  for (const auto* s : settings(view, "env.NCCL_IB_DISABLE"))
    if (is_true(s->value)) disabled = s, forbidden.insert(s->entity);
  for (const auto* s : settings(view, "env.NCCL_NET"))
    if (contains_ignoring_case(s->value, "socket")) disabled = s, forbidden.insert(s->entity);
  for (const auto* s : settings(view, "nccl.gdr"))
    if (!is_true(s->value)) direct = s;
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
    w.supports(has_rdma_ports(view) || disabled != nullptr ? kPositive : kWeak,
               fact("transport " + t.value, "nccl.transport", t.entity, kNaN, "", true));
    add_places(w, view, t.entities);
    if (has_rdma_ports(view))
      w.hints(kPositive, fact("RDMA ports are there", "node_infiniband_rate_bytes_per_second", "",
                              kNaN, "", true));
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
  if (direct != nullptr && t.rdma && !t.socket) {
    because = "NCCL uses RDMA without GPUDirect: data goes through host memory";
    w.supports(kPositive,
               fact("GPUDirect RDMA is off", "nccl.gdr", direct->entity, kNaN, "", true));
    w.where(direct->entity);
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
