#include <fmt/format.h>

#include <algorithm>

#include "explain/network_phases.h"
#include "explain/placing.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"node_infiniband_port_transmit_wait_total",
                                       "firstwait_ethtool_pause_received_total",
                                       "firstwait_rdma_cnp_handled_total",
                                       "node_softnet_dropped_total",
                                       "node_qdisc_drops_total",
                                       "firstwait_tcp_rtt_seconds"};
constexpr Threshold kDrops{"dropped packets", 1e-3, "ratio",
                           "Guo et al., Pingmesh, SIGCOMM'15: alarm above 1e-3"};
constexpr Threshold kRtt{
    "round-trip time over before", 2, "ratio",
    "queueing: half of the time or more is then spent in queues that were not there before"};
constexpr Threshold kThresholds[] = {kRise, kCounted, kDrops, kRtt};
constexpr Phase kPhasesExplained[] = {Phase::collective, Phase::p2p, Phase::input_wait,
                                      Phase::unexplained};

struct Signal {
  std::string_view name, what;
  double weight;
};
// Each tells of queues in its own way; together they are independent. Drops and pauses are the hard
// ones.
constexpr Signal kSignals[] = {
    {"firstwait_ethtool_pause_received_total", "pause frames received", kPositive},
    {"node_infiniband_port_transmit_wait_total", "ticks in which data waited for credits",
     kPositive},
    {"firstwait_rdma_cnp_handled_total", "congestion notifications obeyed", kPositive},
    {"firstwait_rdma_cnp_sent_total", "congestion notifications sent", kWeak},
    {"node_netstat_IpExt_InCEPkts", "packets marked as congested", kWeak},
    {"node_qdisc_drops_total", "packets dropped in send queues", kPositive},
    {"node_qdisc_overlimits_total", "packets held back by a rate limit on the port", kPositive},
    {"node_softnet_dropped_total", "packets dropped by the receiving CPU", kPositive},
    {"node_network_receive_drop_total", "packets dropped on receipt", kWeak},
    {"node_softnet_times_squeezed_total", "receive work put off", kWeak},
};

// A send queue that was put before a port when the slowness began has no past of its own; the port
// has.
bool is_new_queue(const View& view, std::string_view metric, const Reading& r) {
  if (!metric.starts_with("node_qdisc_") || r.has_before() || !(r.now_count >= kCounted.value))
    return false;
  for (const auto& sent : rate(view, "node_network_transmit_bytes_total"))
    if (port_of(sent) == port_of(r)) return sent.has_before();
  return false;
}

Verdict test(const View& view) {
  struct Hit {
    const Signal* signal;
    Reading reading;
  };
  std::vector<Hit> hits;
  size_t watched = 0, comparable = 0;
  for (const auto& s : kSignals) {
    auto readings = rate(view, s.name);
    if (readings.empty()) continue;
    ++watched;
    for (auto& r : readings)
      if (is_new_queue(view, s.name, r)) r.before = 0;
    const Reading* best = nullptr;
    for (const auto& r : readings) {
      comparable += r.has_before() ? 1 : 0;
      if (rose(r) == true && (best == nullptr || r.now > best->now)) best = &r;
    }
    if (best != nullptr) hits.push_back({&s, *best});
  }
  // Without a past only drops speak for themselves.
  double drop_share = kNaN;
  Reading drops;
  for (const auto& d : rate(view, "node_network_receive_drop_total"))
    for (const auto& p : rate(view, "node_network_receive_packets_total"))
      if (port_of(p) == port_of(d) && p.now > 0 && !(drop_share >= d.now / p.now)) {
        drop_share = d.now / p.now;
        drops = d;
      }
  const bool dropping = drop_share >= kDrops.value && drops.now_count >= kCounted.value;
  Reading rtt;
  for (const auto& r : gauge(view, "firstwait_tcp_rtt_seconds")) {
    ++watched;
    comparable += r.has_before() ? 1 : 0;
    if (r.before > 0 && r.now >= kRtt.value * r.before && !(rtt.now >= r.now)) rtt = r;
  }
  if (watched == 0)
    return untested({"node_infiniband_port_transmit_wait_total",
                     "firstwait_ethtool_pause_received_total", "node_softnet_dropped_total"});
  if (comparable == 0 && !dropping)
    return untested({"the same counters from a time when the job was fast"});

  Weighing w;
  if (!gate_network(w, view)) return std::move(w).verdict("", {});
  std::string because;
  for (const auto& h : hits) {
    const auto port = port_of(h.reading);
    w.supports(h.signal->weight, row(std::string(h.signal->what), std::string(h.signal->name), port,
                                     h.reading, "1/s", true));
    if (!because.empty()) continue;
    because = fmt::format("{} counts {:.3g} {} per second, before {:.3g}", id_of(port),
                          h.reading.now, h.signal->what, h.reading.before);
    add_place(w, view, port);
    w.link("Packets queue", std::string(id_of(port)),
           fmt::format("{:.3g} → {:.3g}/s", h.reading.before, h.reading.now));
  }
  if (rtt.now == rtt.now) {
    if (because.empty()) {
      because = fmt::format("the round-trip time of {} rose from {} to {}", id_of(rtt.entity),
                            seconds_text(rtt.before), seconds_text(rtt.now));
      add_place(w, view, rtt.entity);
    }
    w.supports(kPositive,
               row("round-trip time", "firstwait_tcp_rtt_seconds", rtt.entity, rtt, "s", true));
  }
  if (dropping && because.empty()) {
    const auto port = port_of(drops);
    because = fmt::format("{} drops {} of the packets it receives", id_of(port),
                          percent_text(drop_share));
    w.supports(kPositive, fact("packets dropped on receipt", "node_network_receive_drop_total",
                               port, drop_share, "ratio", true));
    add_place(w, view, port);
  }
  if (because.empty())
    w.contradicts(kStrong, fmt::format("none of {} congestion signals rose", watched),
                  fact("congestion signals that rose", "queues, pauses, marks, drops", "", 0,
                       "signals", false));
  weigh_transfer(w, view);
  return std::move(w).verdict(because, {});
}

}  // namespace

extern const Hypothesis hypothesis_network_congestion{
    .id = "network.congestion",
    .claim = "packets queue in the network or at its ends",
    .decides =
        "waiting for credits, pauses, congestion marks, drops and round-trip time, against before",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 3,
    .prior = 0,
    .test = test};

}  // namespace firstwait
