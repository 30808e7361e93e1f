#include <fmt/format.h>

#include <array>
#include <map>
#include <set>

#include "base/text.h"
#include "explain/placing.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"connects_to relations of hosts and switches",
                                       "oversubscription of the switches"};
constexpr Threshold kRatio{
    "down to up bandwidth", 1, "ratio",
    "by definition: up to 1 all ports can send upwards at their full rate; above "
    "it uplinks can be the limit"};
constexpr Threshold kThresholds[] = {kRatio};
constexpr Phase kPhasesExplained[] = {Phase::collective, Phase::p2p, Phase::unexplained};

// Switches to which the job's hosts connect, at a time: directly, or by one of their ports.
std::set<std::string> switches(const View& view, Ns at) {
  std::set<std::string> out, hosts;
  for (const auto& h : job_hosts(view)) hosts.insert(h);
  for (const auto& r : view.evidence.relations) {
    if (r.kind != "connects_to" || !r.to.starts_with("switch/")) continue;
    if (at != kNoTime && ((r.valid_from != kNoTime && r.valid_from > at) ||
                          (r.valid_to != kNoTime && r.valid_to <= at)))
      continue;
    if (hosts.contains(host_name(r.from))) out.insert(r.to);
  }
  return out;
}

double oversubscription(const View& view, const std::set<std::string>& used, std::string& worst) {
  double most = kNaN;
  for (const auto& e : view.evidence.entities) {
    if (!used.contains(e.id)) continue;
    for (const auto& [key, value] : e.attributes)
      if (key == "oversubscription")
        if (const auto v = parse_double(value.substr(0, value.find(':'))); v && !(most >= *v)) {
          most = *v;
          worst = e.id;
        }
  }
  return most;
}

Verdict test(const View& view) {
  const auto& a = view.attribution;
  const auto now = switches(view, a.current.empty ? kNoTime : a.current.to);
  if (now.empty())
    return untested(
        {"which switch each host connects to (topology.conf, ibnetdiscover, inventory.yaml)"});
  Weighing w;
  w.gate(stake_or_unexplained(view, std::array{Phase::collective, Phase::p2p}));
  const auto spread = [&](double n, bool for_it, double before = kNaN) {
    return fact("switches the job is spread over", "connects_to", "", n, "switches", for_it,
                before);
  };
  if (now.size() == 1) {
    w.contradicts(
        kVeryStrong,
        fmt::format("all hosts of the job are on {}: no uplink is crossed", id_of(*now.begin())),
        spread(1, false));
    return std::move(w).verdict("", {});
  }
  std::string worst, because;
  const double ratio = oversubscription(view, now, worst);
  if (ratio > kRatio.value) {
    because = fmt::format("the job crosses the uplinks of {}, oversubscribed {:.1f} to 1",
                          id_of(worst), ratio);
    w.supports(kPositive,
               fact("oversubscription", "oversubscription", worst, ratio, "ratio", true, 1));
    w.where(worst);
    w.link("Uplinks are shared", std::string(id_of(worst)), fmt::format("{:.1f} : 1", ratio));
  } else if (ratio == ratio) {
    w.contradicts(kPositive, fmt::format("the uplinks are not oversubscribed ({:.1f} : 1)", ratio),
                  fact("oversubscription", "oversubscription", worst, ratio, "ratio", false, 1));
  }
  if (!a.baseline.empty && a.baseline.from != kNoTime) {
    const auto before = switches(view, a.baseline.from);
    if (!before.empty() && before.size() < now.size()) {
      if (because.empty())
        because = fmt::format("the job spread from {} to {} switches", before.size(), now.size());
      w.supports(kPositive,
                 spread(static_cast<double>(now.size()), true, static_cast<double>(before.size())));
      for (const auto& s : now)
        if (!before.contains(s)) w.where(s);
    }
  }
  weigh_transfer(w, view);
  return std::move(w).verdict(because,
                              {"oversubscription of the switches", "traffic of the uplinks"});
}

}  // namespace

extern const Hypothesis hypothesis_network_oversubscribed_uplink{
    .id = "network.oversubscribed_uplink",
    .claim = "the job's traffic crosses uplinks that are too few",
    .decides =
        "switches the hosts hang on, now and before, and how far their uplinks are oversubscribed",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 3,
    .prior = 0,
    .test = test};

}  // namespace firstwait
