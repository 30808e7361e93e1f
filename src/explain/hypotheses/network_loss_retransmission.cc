#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "explain/network_phases.h"
#include "explain/placing.h"
#include "explain/storage_signals.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {
    "node_netstat_Tcp_RetransSegs", "node_netstat_Tcp_OutSegs", "node_netstat_TcpExt_TCPTimeouts",
    "firstwait_rdma_packet_seq_err_total", "firstwait_rdma_local_ack_timeout_total"};
constexpr Threshold kLossy{
    "retransmitted segments", 1e-3, "ratio",
    "Guo et al., Pingmesh, SIGCOMM'15: 1e-4 to 1e-5 is normal in a data center, alarm above 1e-3"};
constexpr Threshold kNormal{"normal loss", 1e-4, "ratio", "Guo et al., Pingmesh, SIGCOMM'15"};
constexpr Threshold kTimeout{
    "shortest TCP timeout", 0.2, "s",
    "Linux TCP_RTO_MIN = HZ/5: each timeout stops its connection for 0.2 s or longer"};
constexpr Threshold kLongest{
    "wait for one retransmission", 1, "s",
    "RFC 6298, 2.1: before anything is measured a segment is sent again after 1 s; longer waits "
    "are several retransmissions"};
constexpr Threshold kThresholds[] = {kLossy, kNormal, kTimeout, kLongest, kRise, kCounted};
constexpr Phase kPhasesExplained[] = {Phase::collective, Phase::p2p, Phase::input_wait,
                                      Phase::checkpoint, Phase::unexplained};
// Sequence errors and ACK timeouts are retransmissions. (out_of_sequence also counts adaptive
// routing.)
constexpr std::string_view kRdma[] = {"firstwait_rdma_packet_seq_err_total",
                                      "firstwait_rdma_local_ack_timeout_total"};

const Reading* largest(const std::vector<Reading>& readings) {
  const auto it =
      std::max_element(readings.begin(), readings.end(),
                       [](const Reading& a, const Reading& b) { return a.now < b.now; });
  return it == readings.end() ? nullptr : &*it;
}

struct Tcp {
  bool known = false;
  Reading share, count;  // of the worst host
};
Tcp tcp(const View& view) {
  Tcp t;
  const auto sent = sum_by_entity(rate(view, "node_netstat_Tcp_RetransSegs"));
  const auto shares = ratio(sent, sum_by_entity(rate(view, "node_netstat_Tcp_OutSegs")));
  for (const auto& s : shares) {
    const Reading* c = of_entity(sent, s.entity);
    // On a link that hardly sends, one lost segment is a large share.
    const bool counted = c->now_count >= kCounted.value;
    if (t.known && !(counted && s.now > t.share.now)) continue;
    t = {true, s, *c};
  }
  return t;
}

void weigh_rise(Weighing& w, const Reading& r, std::string_view what, std::string_view metric) {
  const auto risen = rose(r);
  if (!risen) return;
  if (*risen) {
    w.hints(kPositive, row(fmt::format("{} rose at the onset", what), std::string(metric), r.entity,
                           r, "1/s", true));
  } else {
    w.contradicts(
        kPositive,
        fmt::format("{} did not rise: {:.2g} → {:.2g} per second", what, r.before, r.now),
        row(fmt::format("{} as before", what), std::string(metric), r.entity, r, "1/s", false));
  }
}

// Loopback counts its segments as well; what never leaves the host is not lost on a wire.
void weigh_left_the_host(Weighing& w, const View& view, const std::string& host) {
  // Of a packet on a virtual card up to 64 KiB may be segments of 1448 bytes.
  constexpr double kSegmentsPerPacket = 45;
  const auto segments = sum_by_entity(rate(view, "node_netstat_Tcp_OutSegs"));
  const Reading* sent = of_entity(segments, host);
  const std::string prefix = "nic/" + std::string(id_of(host)) + ":";
  double packets = 0;
  bool known = false;
  for (const auto& r : rate(view, "node_network_transmit_packets_total")) {
    if (!r.entity.starts_with(prefix) || r.entity == prefix + "lo" || !(r.now >= 0)) continue;
    known = true;
    packets += r.now;
  }
  if (sent == nullptr || !known || kSegmentsPerPacket * packets >= 0.5 * sent->now) return;
  w.contradicts(kVeryStrong,
                fmt::format("of {:.0f} segments a second its cards send {:.2g} packets: they stay "
                            "on the host",
                            sent->now, packets),
                fact("packets that leave the host", "node_network_transmit_packets_total", host,
                     packets, "1/s", false));
}

// A handful of segments cannot hold up every step: each costs a timeout at most.
void weigh_enough(Weighing& w, const View& view, const Reading& sent_again) {
  double lost = 0;
  for (const Phase p : kPhasesExplained) lost += phase_excess(view, p);
  const double per_step = sent_again.now * view.attribution.current_s;
  if (!(per_step * kLongest.value < lost)) return;
  w.contradicts(
      kVeryStrong,
      fmt::format("{:.2g} segments sent again in a step cannot cost {}", per_step, seconds(lost)),
      fact("segments sent again in a step", "node_netstat_Tcp_RetransSegs", sent_again.entity,
           per_step, "1/step", false));
}

// Segments that the host sends again are not the job's when its connections end on the host itself,
// and it reads from no other machine.
void weigh_own_peers(Weighing& w, const View& view) {
  const auto peers = gauge(view, "firstwait_tcp_connections");
  if (peers.empty()) return;
  for (const auto& r : peers)
    for (const auto& [key, peer] : r.labels)
      if (key == "peer" && !peer.starts_with("127.") && peer != "::1") return;
  for (const auto& use : storage_uses(view))
    if (use.shared) return;
  w.contradicts(kVeryStrong, "the job's connections stay on its host",
                fact("connections of the job to other machines", "firstwait_tcp_connections", "", 0,
                     "connections", false));
}

Verdict test(const View& view) {
  const Tcp t = tcp(view);
  Reading rdma;
  std::string_view rdma_metric;
  bool rdma_known = false;
  for (const auto name : kRdma) {
    const auto readings = rate(view, name);
    if (readings.empty()) continue;
    rdma_known = true;
    const Reading& top = *largest(readings);
    if (!(rdma.now >= top.now)) {
      rdma = top;
      rdma_metric = name;
    }
  }
  if (!t.known && !rdma_known)
    return untested({"node_netstat_Tcp_RetransSegs", "firstwait_rdma_packet_seq_err_total"});

  Weighing w;
  if (!gate_network(w, view)) return std::move(w).verdict("", {});
  // A loader that does not wait for reads does not wait for the network.
  if (const double blocked = blocked_in_reads(view);
      blocked < 0.2 &&
      phase_excess(view, Phase::input_wait) > phase_excess(view, Phase::collective))
    w.contradicts(kStrong, fmt::format("workers spend {} of their time in reads", percent(blocked)),
                  fact("workers blocked in reads", "loader.fetch", "", blocked, "ratio", false));
  std::string because;
  if (rdma_known && rdma.now_count >= kCounted.value) {
    const auto port = port_of(rdma);
    because = fmt::format("{} repeats {:.3g} RDMA packets per second", id_of(port), rdma.now);
    w.supports(rose(rdma).value_or(false) ? kPositive : kWeak,
               row("RDMA retransmissions", std::string(rdma_metric), port, rdma, "1/s", true));
    weigh_rise(w, rdma, "RDMA retransmissions", rdma_metric);
    add_place(w, view, port);
    w.link("Packets are lost", std::string(id_of(port)),
           fmt::format("{:.3g} retransmissions/s", rdma.now));
  }
  if (t.known && t.share.now >= kLossy.value && t.count.now_count >= kCounted.value) {
    if (because.empty())
      because = fmt::format("{} sends {} of its TCP segments again", id_of(t.share.entity),
                            percent_text(t.share.now));
    // Each tenfold of the alarm threshold is one more power of ten that chance does not explain.
    w.supports(kPositive + std::min(kPositive, std::log10(t.share.now / kLossy.value)),
               row("TCP segments sent again", "node_netstat_Tcp_RetransSegs", t.share.entity,
                   t.share, "ratio", true));
    weigh_rise(w, t.count, "TCP retransmission", "node_netstat_Tcp_RetransSegs");
    for (const auto& timeouts : sum_by_entity(rate(view, "node_netstat_TcpExt_TCPTimeouts")))
      if (timeouts.entity == t.share.entity && timeouts.now_count >= kCounted.value)
        w.hints(kWeak, row("TCP timeouts, 0.2 s each or longer", "node_netstat_TcpExt_TCPTimeouts",
                           timeouts.entity, timeouts, "1/s", true));
    weigh_own_peers(w, view);
    weigh_left_the_host(w, view, t.share.entity);
    weigh_enough(w, view, t.count);
    add_place(w, view, t.share.entity);
    w.link("Packets are lost", std::string(id_of(t.share.entity)),
           percent_text(t.share.now) + " sent again");
  }
  if (because.empty()) {
    if (rdma_known)
      w.contradicts(kStrong, fmt::format("{:.0f} RDMA retransmissions", rdma.now_count),
                    row("few RDMA retransmissions", std::string(rdma_metric), port_of(rdma), rdma,
                        "1/s", false));
    bool over_rdma = false;
    for (const std::string_view key : {"nccl.transport", "nccl.network"})
      for (const auto* t_setting : settings(view, key))
        over_rdma |= t_setting->value.find("IB") != std::string::npos;
    // TCP's counters never see RDMA: with NCCL over InfiniBand they refute nothing.
    if (t.known && !over_rdma)
      w.contradicts(t.share.now < kNormal.value ? kStrong : kPositive,
                    fmt::format("{:.2g} % of TCP segments are sent again, up to 0.1 % is normal",
                                100 * t.share.now),
                    row("TCP segments sent again", "node_netstat_Tcp_RetransSegs", t.share.entity,
                        t.share, "ratio", false));
  }
  if (phase_excess(view, Phase::collective) > phase_excess(view, Phase::input_wait))
    weigh_transfer(w, view);
  return std::move(w).verdict(
      because, {"firstwait_rdma_packet_seq_err_total", "firstwait_rdma_local_ack_timeout_total"});
}

}  // namespace

extern const Hypothesis hypothesis_network_loss_retransmission{
    .id = "network.loss_retransmission",
    .claim = "lost packets are sent again, which stretches collectives or storage",
    .decides = "TCP retransmits and timeouts per sender; for RDMA sequence errors and ACK timeouts",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 3,
    .prior = 0,
    .test = test};

}  // namespace firstwait
