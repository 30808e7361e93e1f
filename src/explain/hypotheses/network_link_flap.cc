#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "explain/network_phases.h"
#include "explain/placing.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"link_down and link_up events",
                                       "node_network_carrier_changes_total",
                                       "node_infiniband_link_downed_total"};
constexpr Threshold kDowns{
    "link losses", 1, "events",
    "Linux ABI sysfs-class-net: carrier_changes counts up and down; InfiniBand LinkDowned: any "
    "loss "
    "without a reboot is a failing connection (OpenFabrics, Overview of Error Counters)"};
constexpr Threshold kThresholds[] = {kDowns, kRise};
constexpr Phase kPhasesExplained[] = {Phase::collective, Phase::p2p, Phase::input_wait,
                                      Phase::unexplained};

struct Flap {
  std::string port, metric;
  double now = 0;        // link losses in the current window
  double before = kNaN;  // per second
  double rate = 0;
  Ns first = kNoTime;
};

bool in_current(const View& view, Ns t) {
  const auto& c = view.attribution.current;
  return t == kNoTime || c.empty || c.from == kNoTime || (t >= c.from && t <= c.to) ||
         at_onset(view, t);
}

std::vector<Flap> flaps(const View& view, bool& watched) {
  std::vector<Flap> out;
  for (const std::string_view name :
       {"node_network_carrier_changes_total", "node_infiniband_link_downed_total"}) {
    for (const auto& r : rate(view, name)) {
      const auto port = port_of(r);
      // Loopback and container interfaces come and go by themselves.
      if (port.ends_with(":lo") || port.find(":veth") != std::string::npos ||
          port.find(":docker") != std::string::npos)
        continue;
      watched = true;
      // A loss and a return are two carrier changes.
      const double losses =
          name == "node_infiniband_link_downed_total" ? r.now_count : r.now_count / 2;
      if (losses >= kDowns.value / 2)
        out.push_back({port, std::string(name), std::max(losses, 1.0), r.before, r.now});
    }
  }
  std::map<std::string, Flap> by_port;
  for (const auto* e : events(view, "link_down")) {
    watched = true;
    if (!in_current(view, e->start)) continue;
    auto& f = by_port[e->entity];
    f.port = e->entity;
    f.metric = "link_down";
    f.now += 1;
    if (f.first == kNoTime || (e->start != kNoTime && e->start < f.first)) f.first = e->start;
  }
  for (auto& [port, f] : by_port) out.push_back(std::move(f));
  if (!events(view, "link_up").empty()) watched = true;
  return out;
}

Verdict test(const View& view) {
  bool watched = false;
  auto found = flaps(view, watched);
  if (!watched)
    return untested({"kernel log (link down, link up)", "node_network_carrier_changes_total"});
  Weighing w;
  if (!gate_network(w, view)) return std::move(w).verdict("", {});
  if (found.empty()) {
    w.contradicts(
        kStrong, "no link was lost",
        fact("link losses", "node_network_carrier_changes_total", "", 0, "events", false));
    return std::move(w).verdict("", {});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Flap& a, const Flap& b) { return a.now > b.now; });
  const Flap& f = found.front();
  w.supports(f.now >= 2 ? kStrong : kPositive,
             fact("link losses", f.metric, f.port, f.now, "events", true));
  if (f.before > 0 && f.rate < kRise.value * f.before)
    w.contradicts(kPositive, fmt::format("{} was lost as often before", id_of(f.port)),
                  fact("as often before", f.metric, f.port, f.rate, "1/s", false, f.before));
  if (at_onset(view, f.first))
    w.hints(coincidence_llr(view), fact("at the onset", f.metric, f.port, kNaN, "", true));
  weigh_transfer(w, view);
  add_place(w, view, f.port);
  w.link("The link goes down", std::string(id_of(f.port)), fmt::format("{:.0f} times", f.now));
  return std::move(w).verdict(
      fmt::format("{} lost its link {:.0f} {}", id_of(f.port), f.now, f.now < 2 ? "time" : "times"),
      {});
}

}  // namespace

extern const Hypothesis hypothesis_network_link_flap{
    .id = "network.link_flap",
    .claim = "a link goes down and comes back",
    .decides = "carrier changes, link losses and link events in the slow time",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 3,
    .prior = 0,
    .test = test};

}  // namespace firstwait
