#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text.h"
#include "explain/gpu_facts.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"nccl.transport", "env.NCCL_P2P_DISABLE",
                                       "nvlink.links_active"};
constexpr Threshold kPeersOnHost{
    "GPUs of the job on one host", 2, "ranks",
    "NCCL user guide, NCCL_P2P_DISABLE: peer-to-peer is between GPUs of one host"};
constexpr Threshold kThresholds[] = {kPeersOnHost};
constexpr Phase kPhasesExplained[] = {Phase::collective, Phase::p2p, Phase::unexplained};

// Most ranks on one host; 0 when no host is known.
size_t ranks_per_host(const View& view) {
  std::map<std::string, size_t> count;
  size_t most = 0;
  for (const auto& [r, info] : view.evidence.ranks)
    if (!info.host.empty()) most = std::max(most, ++count[info.host]);
  return most;
}

const Setting* switched_off(const View& view) {
  for (const auto* s : settings(view, "env.NCCL_P2P_DISABLE"))
    if (!s->value.empty() && s->value != "0") return s;
  for (const auto* s : settings(view, "env.NCCL_P2P_LEVEL"))
    if (s->value == "LOC" || s->value == "0") return s;
  return nullptr;
}

Verdict test(const View& view) {
  const Setting* off = switched_off(view);
  bool peer_to_peer = false, shared_memory = false;
  std::string transport_at, transport;
  for (const auto* s : settings_with_prefix(view, "nccl.transport")) {
    if (contains_ignoring_case(s->value, "P2P")) peer_to_peer = true;
    if (contains_ignoring_case(s->value, "SHM")) {
      shared_memory = true;
      transport_at = s->entity;
      transport = s->value;
    }
  }
  std::string without;
  double with = 0, counted = 0;
  for (const std::string_view key : {"nvlink.links_active", "nvlink.active_links"}) {
    for (const auto* s : settings(view, key)) {
      const auto n = parse_int(s->value);
      if (!n) continue;
      ++counted;
      if (*n == 0 && without.empty()) without = s->entity;
      with = std::max(with, static_cast<double>(*n));
    }
  }
  if (off == nullptr && !peer_to_peer && !shared_memory && counted == 0)
    return untested({"NCCL_DEBUG=INFO log (transports)", "nvidia-smi nvlink --status"});

  Weighing w;
  w.gate(stake_or_unexplained(view, std::array{Phase::collective, Phase::p2p}));
  const size_t together = ranks_per_host(view);
  if (together > 0 && static_cast<double>(together) < kPeersOnHost.value)
    w.contradicts(kVeryStrong,
                  "each host has one rank: no GPU of the job shares a host with another",
                  fact("ranks per host", "rank placement", "", static_cast<double>(together),
                       "ranks", false));
  std::string because;
  if (off != nullptr) {
    const auto variable = off->key.substr(off->key.find('.') + 1);
    because =
        fmt::format("{}={} keeps the GPUs of a host from talking directly", variable, off->value);
    w.supports(kPositive, fact(fmt::format("{}={}", variable, off->value), off->key, off->entity,
                               kNaN, "", true));
    w.where(off->entity);
  }
  if (shared_memory) {
    if (because.empty())
      because = fmt::format("GPUs of one host talk through host memory ({})", transport);
    w.supports(kPositive, fact(fmt::format("transport {}", transport), "nccl.transport",
                               transport_at, kNaN, "", true));
    w.where(transport_at);
  }
  if (!without.empty() && with > 0) {
    if (because.empty())
      because =
          fmt::format("{} has no active NVLink, its peers have {:.0f}", gpu_label(without), with);
    w.supports(kStrong,
               fact("no active NVLink", "nvlink.links_active", without, 0, "links", true, with));
    add_place(w, view, without);
  }
  if (because.empty()) {
    if (peer_to_peer)
      w.contradicts(kStrong, "NCCL connects the GPUs of a host peer to peer",
                    fact("transport P2P", "nccl.transport", "", kNaN, "", false));
    else if (with > 0)
      w.contradicts(kPositive, fmt::format("every GPU has active NVLinks, up to {:.0f}", with),
                    fact("active NVLinks", "nvlink.links_active", "", with, "links", false));
    // No GPU has any: it may be a model without, which is no fault and tells nothing.
  } else if (peer_to_peer && off == nullptr && !(without.size() > 0 && with > 0)) {
    w.contradicts(kWeak, "other GPUs are connected peer to peer",
                  fact("transport P2P elsewhere", "nccl.transport", "", kNaN, "", false));
  }
  weigh_transfer(w, view);
  if (!because.empty())
    w.link("NVLink is not used", "between GPUs of one host", off != nullptr ? off->key : "");
  Verdict v = std::move(w).verdict(
      because, {"NCCL_DEBUG=INFO log (transports)", "nvidia-smi nvlink --status"});
  limit_effect(v, view.attribution.collective_transfer_s);
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_gpu_nvlink_absent{
    .id = "gpu.nvlink_absent",
    .claim = "GPUs of one host do not talk over NVLink",
    .decides = "NCCL's transports and switches, active links against peers",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 3,
    .prior = 0,
    .test = test};

}  // namespace firstwait
