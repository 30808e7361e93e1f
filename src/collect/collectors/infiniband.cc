// Counters, state and rate of each RDMA port: /sys/class/infiniband.
#include "base/text.h"
#include "collect/sys_values.h"

namespace firstwait {
namespace {

constexpr MetricKind kC = MetricKind::counter, kG = MetricKind::gauge;
constexpr Metric kMetrics[] = {
    {"node_infiniband_rate_bytes_per_second", kG, "Maximum signal transfer rate"},
    {"node_infiniband_state_id", kG,
     "State of the InfiniBand port (0: no change, 1: down, 2: init, 3: armed, 4: active, 5: act "
     "defer)"},
    {"node_infiniband_physical_state_id", kG,
     "Physical state of the InfiniBand port (0: no change, 1: sleep, 2: polling, 3: disable, 4: "
     "shift, 5: link up, 6: link "
     "error recover, 7: phytest)"},
    {"node_infiniband_link_downed_total", kC,
     "Number of times the link failed to recover from an error state and went down"},
    {"node_infiniband_link_error_recovery_total", kC,
     "Number of times the link successfully recovered from an error state"},
    {"node_infiniband_multicast_packets_received_total", kC,
     "Number of multicast packets received (including errors)"},
    {"node_infiniband_multicast_packets_transmitted_total", kC,
     "Number of multicast packets transmitted (including errors)"},
    {"node_infiniband_port_constraint_errors_received_total", kC,
     "Number of packets received on the switch physical port that are discarded"},
    {"node_infiniband_port_constraint_errors_transmitted_total", kC,
     "Number of packets not transmitted from the switch physical port"},
    {"node_infiniband_port_data_received_bytes_total", kC,
     "Number of data octets received on all links"},
    {"node_infiniband_port_data_transmitted_bytes_total", kC,
     "Number of data octets transmitted on all links"},
    {"node_infiniband_port_discards_received_total", kC,
     "Number of inbound packets discarded by the port because the port is down or congested"},
    {"node_infiniband_port_discards_transmitted_total", kC,
     "Number of outbound packets discarded by the port because the port is down or congested"},
    {"node_infiniband_port_errors_received_total", kC,
     "Number of packets containing an error that were received on this port"},
    {"node_infiniband_port_packets_received_total", kC,
     "Number of packets received on all VLs by this port (including errors)"},
    {"node_infiniband_port_packets_transmitted_total", kC,
     "Number of packets transmitted on all VLs from this port (including errors)"},
    {"node_infiniband_port_transmit_wait_total", kC,
     "Number of ticks during which the port had data to transmit but no data was sent during the "
     "entire tick"},
    {"node_infiniband_unicast_packets_received_total", kC,
     "Number of unicast packets received (including errors)"},
    {"node_infiniband_unicast_packets_transmitted_total", kC,
     "Number of unicast packets transmitted (including errors)"},
    {"node_infiniband_symbol_error_total", kC,
     "Number of minor link errors detected on one or more physical lanes"},
    {"node_infiniband_local_link_integrity_errors_total", kC,
     "Number of times that the count of local physical errors "
     "exceeded the threshold specified by LocalPhyErrors"},
    {"node_infiniband_excessive_buffer_overrun_errors_total", kC,
     "Number of times that OverrunErrors consecutive flow control update periods occurred"},
    {"node_infiniband_port_receive_remote_physical_errors_total", kC,
     "Number of packets marked with the EBP (End of Bad Packet) delimiter received on the port"},
    {"node_infiniband_vl15_dropped_total", kC,
     "Number of incoming VL15 packets dropped due to resource limitations"},
    // Ours: what the adapter itself counts, which TCP's counters never see.
    {"firstwait_rdma_out_of_sequence_total", kC,
     "Packets that came out of sequence: packets were lost on the way."},
    {"firstwait_rdma_packet_seq_err_total", kC,
     "Sequence error answers: the peer missed packets that were sent."},
    {"firstwait_rdma_local_ack_timeout_total", kC, "Sends that were not acknowledged in time."},
    {"firstwait_rdma_cnp_sent_total", kC,
     "Congestion notifications sent: marked packets arrived here."},
    {"firstwait_rdma_cnp_handled_total", kC,
     "Congestion notifications received: sending was slowed down."},
    {"firstwait_rdma_ecn_marked_total", kC, "Packets that arrived with a congestion mark."},
    {"firstwait_rdma_out_of_buffer_total", kC,
     "Packets dropped because no receive buffer was posted."},
    {"firstwait_rdma_adaptive_retransmits_total", kC, "Adaptive retransmissions of RoCE."},
    {"firstwait_rdma_retransmitted_packets_total", kC, "Packets sent again (EFA)."},
    {"firstwait_rdma_retransmitted_bytes_total", kC, "Bytes sent again (EFA)."},
    {"firstwait_rdma_retransmit_timeouts_total", kC, "Retransmissions because of a timeout (EFA)."},
    {"firstwait_rdma_received_drops_total", kC, "Packets received and dropped (EFA)."}};

struct Counter {
  std::string_view file, metric;
  int64_t times = 1;
};
// Data is counted in words of four bytes.
constexpr Counter kCounters[] = {
    {"counters/link_downed", "node_infiniband_link_downed_total"},
    {"counters/link_error_recovery", "node_infiniband_link_error_recovery_total"},
    {"counters/multicast_rcv_packets", "node_infiniband_multicast_packets_received_total"},
    {"counters/multicast_xmit_packets", "node_infiniband_multicast_packets_transmitted_total"},
    {"counters/port_rcv_constraint_errors",
     "node_infiniband_port_constraint_errors_received_total"},
    {"counters/port_xmit_constraint_errors",
     "node_infiniband_port_constraint_errors_transmitted_total"},
    {"counters/port_rcv_data", "node_infiniband_port_data_received_bytes_total", 4},
    {"counters/port_xmit_data", "node_infiniband_port_data_transmitted_bytes_total", 4},
    {"counters/port_rcv_discards", "node_infiniband_port_discards_received_total"},
    {"counters/port_xmit_discards", "node_infiniband_port_discards_transmitted_total"},
    {"counters/port_rcv_errors", "node_infiniband_port_errors_received_total"},
    {"counters/port_rcv_packets", "node_infiniband_port_packets_received_total"},
    {"counters/port_xmit_packets", "node_infiniband_port_packets_transmitted_total"},
    {"counters/port_xmit_wait", "node_infiniband_port_transmit_wait_total"},
    {"counters/unicast_rcv_packets", "node_infiniband_unicast_packets_received_total"},
    {"counters/unicast_xmit_packets", "node_infiniband_unicast_packets_transmitted_total"},
    {"counters/symbol_error", "node_infiniband_symbol_error_total"},
    {"counters/local_link_integrity_errors", "node_infiniband_local_link_integrity_errors_total"},
    {"counters/excessive_buffer_overrun_errors",
     "node_infiniband_excessive_buffer_overrun_errors_total"},
    {"counters/port_rcv_remote_physical_errors",
     "node_infiniband_port_receive_remote_physical_errors_total"},
    {"counters/VL15_dropped", "node_infiniband_vl15_dropped_total"},
    {"hw_counters/out_of_sequence", "firstwait_rdma_out_of_sequence_total"},
    {"hw_counters/packet_seq_err", "firstwait_rdma_packet_seq_err_total"},
    {"hw_counters/local_ack_timeout_err", "firstwait_rdma_local_ack_timeout_total"},
    {"hw_counters/np_cnp_sent", "firstwait_rdma_cnp_sent_total"},
    {"hw_counters/rp_cnp_handled", "firstwait_rdma_cnp_handled_total"},
    {"hw_counters/np_ecn_marked_roce_packets", "firstwait_rdma_ecn_marked_total"},
    {"hw_counters/out_of_buffer", "firstwait_rdma_out_of_buffer_total"},
    {"hw_counters/roce_adp_retrans", "firstwait_rdma_adaptive_retransmits_total"},
    {"hw_counters/retrans_pkts", "firstwait_rdma_retransmitted_packets_total"},
    {"hw_counters/retrans_bytes", "firstwait_rdma_retransmitted_bytes_total"},
    {"hw_counters/retrans_timeout_events", "firstwait_rdma_retransmit_timeouts_total"},
    {"hw_counters/rx_drops", "firstwait_rdma_received_drops_total"}};

const Metric& metric(std::string_view name) {
  return *std::find_if(std::begin(kMetrics), std::end(kMetrics),
                       [&](const Metric& m) { return m.name == name; });
}

struct Port {
  std::string path;  // of the port, with '/' behind
  File rate, state, physical;
  SeriesId ids[3];
};

class Infiniband final : public Sampling {
 public:
  explicit Infiniband(const World& world) : dir_(world.root.sys + "/class/infiniband") {}

  Presence sample(Out& out) override {
    if (search_.due(out.now())) search(out);
    if (ports_.empty()) return Presence::absent;
    values_.sample(out);
    for (Port& p : ports_) {
      int64_t value = 0;
      // "200 Gb/sec (4X HDR)", "2.5 Gb/sec (1X SDR)"
      if (const auto text = out.read(p.rate)) {
        Scan scan(*text);
        if (scaled_number(scan.word(), 10, value) && scan.word() == "Gb/sec" &&
            value < 1'000'000'000)
          out.put(p.ids[0], value * 100'000'000 / 8);
      }
      // "4: ACTIVE"
      for (auto [file, id] : {std::pair{&p.state, p.ids[1]}, {&p.physical, p.ids[2]}})
        if (const auto text = out.read(*file);
            text && whole_number(text->substr(0, text->find(':')), value))
          out.put(id, value);
    }
    return Presence::present;
  }

 private:
  void search(Out& out) {
    std::vector<Port> before = std::move(ports_);
    ports_.clear();
    values_.begin();
    for (const std::string& device : list_directory(dir_, 256))
      for (const std::string& port : list_directory(dir_ + "/" + device + "/ports", 256)) {
        const std::string at = dir_ + "/" + device + "/ports/" + port + "/";
        const auto series = [&](const Metric& m) {
          return out.series(m, {{"device", device}, {"port", port}});
        };
        for (const Counter& c : kCounters)
          if (read_line(at + std::string(c.file)))
            values_.add(at + std::string(c.file), series(metric(c.metric)), c.times);
        // EFA has its counters beside the ports as well; those of the port win.
        ports_.push_back({at,
                          File(at + "rate", true),
                          File(at + "state", true),
                          File(at + "phys_state", true),
                          {series(kMetrics[0]), series(kMetrics[1]), series(kMetrics[2])}});
      }
    values_.end(out);
    for (const Port& b : before)
      if (std::none_of(ports_.begin(), ports_.end(),
                       [&](const Port& p) { return p.path == b.path; }))
        for (const SeriesId id : b.ids) out.release(id);
  }

  std::string dir_;
  Occasionally search_;
  SysValues values_;
  std::vector<Port> ports_;
};

}  // namespace

extern const Collector collector_infiniband{
    .name = "infiniband",
    .what =
        "counters, state and rate of each RDMA port, and what its adapter counts of loss and "
        "congestion",
    .metrics = kMetrics,
    .reads = "/sys/class/infiniband/*/ports/*/{counters,hw_counters}",
    .needs = "an RDMA adapter and its driver",
    .period = 5'000'000'000,  // some adapters ask their firmware for each counter
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Infiniband>(w);
    }};

}  // namespace firstwait
