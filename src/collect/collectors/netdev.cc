// Bytes, packets, errors and drops of each network interface: /proc/net/dev.
#include "collect/collector.h"

namespace firstwait {
namespace {

constexpr Metric kMetrics[] = {{"node_network_receive_bytes_total", MetricKind::counter,
                                "Network device statistic receive_bytes."},
                               {"node_network_receive_packets_total", MetricKind::counter,
                                "Network device statistic receive_packets."},
                               {"node_network_receive_errs_total", MetricKind::counter,
                                "Network device statistic receive_errs."},
                               {"node_network_receive_drop_total", MetricKind::counter,
                                "Network device statistic receive_drop."},
                               {"node_network_receive_fifo_total", MetricKind::counter,
                                "Network device statistic receive_fifo."},
                               {"node_network_receive_frame_total", MetricKind::counter,
                                "Network device statistic receive_frame."},
                               {"node_network_receive_compressed_total", MetricKind::counter,
                                "Network device statistic receive_compressed."},
                               {"node_network_receive_multicast_total", MetricKind::counter,
                                "Network device statistic receive_multicast."},
                               {"node_network_transmit_bytes_total", MetricKind::counter,
                                "Network device statistic transmit_bytes."},
                               {"node_network_transmit_packets_total", MetricKind::counter,
                                "Network device statistic transmit_packets."},
                               {"node_network_transmit_errs_total", MetricKind::counter,
                                "Network device statistic transmit_errs."},
                               {"node_network_transmit_drop_total", MetricKind::counter,
                                "Network device statistic transmit_drop."},
                               {"node_network_transmit_fifo_total", MetricKind::counter,
                                "Network device statistic transmit_fifo."},
                               {"node_network_transmit_colls_total", MetricKind::counter,
                                "Network device statistic transmit_colls."},
                               {"node_network_transmit_carrier_total", MetricKind::counter,
                                "Network device statistic transmit_carrier."},
                               {"node_network_transmit_compressed_total", MetricKind::counter,
                                "Network device statistic transmit_compressed."}};
constexpr size_t kFields = std::size(kMetrics);

class Netdev final : public Sampling {
 public:
  explicit Netdev(const World& world) : file_(world.root.proc + "/net/dev") {}

  Presence sample(Out& out) override {
    const auto text = out.read(file_);
    if (!text) return presence_of(file_.error());
    devices_.begin();
    Scan lines(*text);
    std::string_view line;
    while (lines.line(line)) {
      // Two header lines have bars; a name may stand close to its first number ("eth0:123").
      const size_t colon = line.rfind(':');
      if (colon == std::string_view::npos || line.find('|') != std::string_view::npos) continue;
      Scan scan(line.substr(0, colon));
      const std::string_view name = scan.word();
      Scan numbers(line.substr(colon + 1));
      int64_t values[kFields];
      size_t n = 0;
      while (n < kFields && numbers.number(values[n])) ++n;
      if (n < kFields || name.empty()) {
        out.trouble("/proc/net/dev: " + std::string(name.substr(0, 40)));
        continue;
      }
      devices_.put(out, name, values);
    }
    devices_.end(out);
    return Presence::present;
  }

 private:
  File file_;
  KeyedSeries<kFields> devices_{kMetrics, "device"};
};

}  // namespace

extern const Collector collector_netdev{
    .name = "netdev",
    .what = "bytes, packets, errors and drops of each network interface",
    .metrics = kMetrics,
    .reads = "/proc/net/dev",
    .needs = "the host's network namespace",
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Netdev>(w);
    }};

}  // namespace firstwait
