#include <fmt/core.h>

#include "explain/contention_signals.h"
#include "explain/input_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::collective, Phase::p2p, Phase::input_wait};
constexpr std::string_view kNeeds[] = {"neighbour_start events",
                                       "node_network_transmit_bytes_total and the job's own bytes"};
constexpr Threshold kRise{
    "bytes on the port against before", 1.5, "ratio",
    "M/M/1 queue: waiting grows with 1 / (1 - utilization), 3.3 times at 70 %; half as "
    "much again exceeds it on a "
    "port that was half used"};
constexpr Threshold kThresholds[] = {kRelevantShare, kRise};

Verdict test(const View& view) {
  Weighing w;
  const bool port = has_metric(view, "node_network_transmit_bytes_total");
  if (!neighbours_watched(view)) return untested({kNeeds[0]});
  if (!w.gate(stake(view, kPhasesExplained))) return std::move(w).verdict("", {});
  const auto found = neighbours_at_onset(view, "network");
  double before = 0, now = 0;
  for (const auto* metric :
       {"node_network_transmit_bytes_total", "node_network_receive_bytes_total"})
    for (const auto& r : rate(view, metric))
      if (r.has_before()) {
        before += r.before;
        now += r.now;
      }
  if (port && before > 0) {
    auto e = fact("bytes on the hosts' ports", "node_network_transmit_bytes_total", "", now,
                  "bytes/s", true, before);
    // The job is slower and so sends less: more bytes are somebody else's.
    if (now >= kRise.value * before && own_demand_unchanged(view))
      w.supports(kPositive, std::move(e));
    else if (now < 1.1 * before)
      w.contradicts(found.empty() ? kStrong : kPositive,
                    fmt::format("ports carry {} of before", percent(now / before)), std::move(e));
  }
  for (const auto& r : rate(view, "node_infiniband_port_transmit_wait_total"))
    if (r.has_before() && r.before >= 0 && r.now >= 2 * r.before && r.now > 0 && !found.empty()) {
      w.supports(kPositive,
                 row("ports wait for credits", "node_infiniband_port_transmit_wait_total", r.entity,
                     r, "1/s", true));
      break;
    }
  const auto neighbour = weigh_neighbours(w, view, "network");
  w.link("A neighbour uses the network", neighbour, bytes_per_second(now));
  return std::move(w).verdict(fmt::format("{} began to use the network at the onset",
                                          neighbour.empty() ? "another workload" : neighbour),
                              {kNeeds[1]});
}

}  // namespace

extern const Hypothesis hypothesis_contention_network{
    .id = "contention.network",
    .claim = "another workload takes the network",
    .decides = "bytes on the ports beyond the job's own, a neighbour's start at the onset",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 7,
    .prior = 0,
    .test = test};

}  // namespace firstwait
