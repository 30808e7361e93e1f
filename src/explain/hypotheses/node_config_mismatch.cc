#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "explain/placing.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"nic.mtu",        "nic.speed",  "driver.version",
                                       "kernel.version", "firmware.*", "gpu.model"};
constexpr Threshold kMajority{
    "hosts that agree", 2, "hosts",
    "with two hosts it can only be said that they differ, not which of them is wrong"};
constexpr Threshold kThresholds[] = {kMajority, kPeerSpread};
constexpr Phase kPhasesExplained[] = {Phase::forward, Phase::backward,   Phase::collective,
                                      Phase::p2p,     Phase::input_wait, Phase::unexplained};

bool compared(std::string_view key) {
  return key == "nic.mtu" || key == "nic.speed" || key == "driver.version" ||
         key == "cuda.version" || key == "nccl.version" || key == "torch.version" ||
         key == "kernel.version" || key == "gpu.model" || key == "cpu.count" ||
         key == "cpu.model" || key == "cpu.governor" || key == "memory.total" ||
         key.starts_with("firmware.") || key.starts_with("env.NCCL_");
}

// Attributes of inventories that identify a thing, and differ by nature.
bool inventory_key(std::string_view key) {
  return key == "mtu" || key == "driver" || key == "firmware" || key == "kernel" ||
         key == "speed" || key == "model" || key == "gpu_model" || key == "cpu" ||
         key == "memory" || key == "os" || compared(key);
}

// What must be equal on all hosts: a key, and the device within its host ("eth0"), which for GPUs
// does not matter.
struct Attribute {
  std::string key, device;
  bool operator<(const Attribute& o) const {
    return std::tie(key, device) < std::tie(o.key, o.device);
  }
};
using Values = std::map<Attribute, std::map<std::string, std::set<std::string>>>;  // host -> values

void collect(Values& values, const std::string& entity, std::string_view key,
             const std::string& value) {
  const auto host = host_name(entity);
  if (host.empty() || value.empty()) return;
  const auto device =
      entity.starts_with("nic/") ? entity.substr(entity.find(':') + 1) : std::string();
  values[{std::string(key), device}][host].insert(value);
}

std::string joined(const std::set<std::string>& values) {
  std::string out;
  for (const auto& v : values) out += (out.empty() ? "" : " and ") + v;
  return out.substr(0, 60);
}

struct Difference {
  std::string key, device, host, own, others;
  size_t agreeing = 0;
  std::optional<bool> slow;
  double llr = 0;
};

std::optional<Difference> odd_one(const View& view, const Attribute& attribute,
                                  const std::map<std::string, std::set<std::string>>& by_host) {
  std::map<std::set<std::string>, std::vector<std::string>> groups;
  for (const auto& [host, values] : by_host) groups[values].push_back(host);
  if (groups.size() < 2) return std::nullopt;
  const auto majority = std::max_element(
      groups.begin(), groups.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  Difference d{attribute.key,           attribute.device,        "",           "",
               joined(majority->first), majority->second.size(), std::nullopt, 0};
  for (const auto& [values, hosts] : groups) {
    if (&values == &majority->first) continue;
    for (const auto& h : hosts) {
      const auto slow = is_slow_place(view, "host/" + h);
      if (d.host.empty() || slow == true) {
        d.host = h;
        d.own = joined(values);
        d.slow = slow;
      }
    }
  }
  const bool clear =
      static_cast<double>(d.agreeing) >= kMajority.value && d.agreeing > by_host.size() / 2;
  if (!clear) {
    // Two hosts: which is odd is open, unless one of them is the slow one.
    for (const auto& [host, v] : by_host)
      d.slow = d.slow == true || is_slow_place(view, "host/" + host) == true ? std::optional(true)
                                                                             : d.slow;
    d.agreeing = 1;
  }
  d.llr = d.slow == true    ? (clear ? kStrong : kPositive)
          : d.slow == false ? -kPositive
          : clear           ? kWeak
                            : 0.5 * kWeak;
  return d;
}

Verdict test(const View& view) {
  Values values;
  const auto own = job_hosts(view);
  const auto is_own = [&](const std::string& entity) {
    return own.empty() || std::find(own.begin(), own.end(), host_name(entity)) != own.end();
  };
  for (const auto* s : settings_with_prefix(view, ""))
    if (compared(s->key) && is_own(s->entity)) collect(values, s->entity, s->key, s->value);
  for (const auto& e : view.evidence.entities)
    for (const auto& [key, value] : e.attributes)
      if ((e.id.starts_with("host/") || e.id.starts_with("nic/")) && inventory_key(key) &&
          is_own(e.id))
        collect(values, e.id, key, value);
  std::optional<Difference> worst;
  size_t equal = 0, hosts = 0;
  for (const auto& [attribute, by_host] : values) {
    if (by_host.size() < 2) continue;
    hosts = std::max(hosts, by_host.size());
    const auto d = odd_one(view, attribute, by_host);
    if (!d) {
      ++equal;
    } else if (!worst || d->llr > worst->llr) {
      worst = d;
    }
  }
  if (hosts < 2)
    return untested(
        {"the same settings of two or more hosts (nic.mtu, driver.version, kernel.version, "
         "firmware.*)"});
  Weighing w;
  if (!worst) {
    w.contradicts(
        kStrong, fmt::format("{} settings are equal on all {} hosts", equal, hosts),
        fact("equal settings", "settings", "", static_cast<double>(equal), "settings", false));
    return std::move(w).verdict("", {});
  }
  w.gate(stake_or_unexplained(view, std::span(kPhasesExplained).first(5)));
  const auto what = worst->key + (worst->device.empty() ? "" : " of " + worst->device);
  const bool which = worst->agreeing > 1 || worst->slow == true;
  const auto because = which && worst->agreeing > 1
                           ? fmt::format("{} has {} {}, {} hosts have {}", worst->host, what,
                                         worst->own, worst->agreeing, worst->others)
                           : fmt::format("hosts differ: {} {} on {}, else {}", what, worst->own,
                                         worst->host, worst->others);
  const auto place = "host/" + worst->host;
  const auto difference = fact(fmt::format("{}: {} against {}", what, worst->own, worst->others),
                               worst->key, which ? place : "", kNaN, "", worst->llr > 0);
  if (worst->llr > 0) {
    w.supports(worst->llr, difference);
    if (which) w.where(place);
    w.link("Hosts differ", which ? worst->host : "between hosts",
           fmt::format("{}: {} / {}", what, worst->own, worst->others));
  } else {
    w.contradicts(
        kPositive,
        fmt::format("{} differs in {}, but the slow rank is not there", worst->host, what),
        difference);
  }
  return std::move(w).verdict(because, {});
}

}  // namespace

extern const Hypothesis hypothesis_node_config_mismatch{
    .id = "node.config_mismatch",
    .claim = "a host differs from the others in hardware or software",
    .decides =
        "settings and inventory compared across hosts, and whether the odd one is the slow one",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 2,
    .prior = 0,
    .test = test};

}  // namespace firstwait
