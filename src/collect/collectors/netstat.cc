// Counters of the network protocols: /proc/net/netstat, snmp and snmp6.
#include "collect/collector.h"

namespace firstwait {
namespace {

constexpr Metric kMetrics[] = {{"node_netstat_*", MetricKind::untyped, "Statistic *."}};

// What node_exporter exports by default, and what it leaves out although it tells loss and
// congestion.
constexpr std::string_view kWanted[] = {
    "Ip_Forwarding", "Ip6_InOctets", "Ip6_OutOctets", "IpExt_InOctets", "IpExt_OutOctets",
    "Icmp_InMsgs", "Icmp_OutMsgs", "Icmp6_InMsgs", "Icmp6_OutMsgs", "TcpExt_TCPSynRetrans",
    "TcpExt_TCPTimeouts", "TcpExt_TCPOFOQueue", "TcpExt_TCPRcvQDrop", "Tcp_ActiveOpens",
    "Tcp_InSegs", "Tcp_OutSegs", "Tcp_OutRsts", "Tcp_PassiveOpens", "Tcp_RetransSegs",
    "Tcp_CurrEstab", "Udp_InDatagrams", "Udp_OutDatagrams", "Udp_NoPorts", "Udp_RcvbufErrors",
    "Udp_SndbufErrors", "Udp6_InDatagrams", "Udp6_OutDatagrams", "Udp6_NoPorts",
    "Udp6_RcvbufErrors", "Udp6_SndbufErrors",
    // Ours:
    "TcpExt_TCPLostRetransmit", "IpExt_InCEPkts"};

bool wanted(std::string_view name) {
  if (name.ends_with("_InErrors") || name.ends_with("_InErrs") ||
      name.starts_with("TcpExt_Listen") || name.starts_with("TcpExt_Syncookies"))
    return true;
  return std::find(std::begin(kWanted), std::end(kWanted), name) != std::end(kWanted);
}

// Which columns of a pair of lines ("Tcp: names", "Tcp: values") are kept, for as long as the names
// stay the same.
struct Columns {
  std::string header;
  std::vector<SeriesId> ids;  // one a column; kNoSeries: not wanted
};

class Netstat final : public Sampling {
 public:
  explicit Netstat(const World& world)
      : netstat_(world.root.proc + "/net/netstat"),
        snmp_(world.root.proc + "/net/snmp"),
        snmp6_(world.root.proc + "/net/snmp6") {}

  Presence sample(Out& out) override {
    bool any = false;
    groups_.begin();
    for (File* file : {&netstat_, &snmp_})
      if (const auto text = out.read(*file)) {
        pairs(*text, out, file->path());
        any = true;
      }
    groups_.sweep([&](const Columns& c) { release(c, out); });
    fields6_.begin();
    if (const auto text = out.read(snmp6_)) {
      snmp6(*text, out);
      any = true;
    }
    fields6_.sweep([&](SeriesId id) { out.release(id); });
    return any ? Presence::present : presence_of(snmp_.error());
  }

 private:
  static void release(const Columns& c, Out& out) {
    for (const SeriesId id : c.ids) out.release(id);
  }

  void pairs(std::string_view text, Out& out, std::string_view path) {
    Scan lines(text);
    std::string_view header, values;
    while (lines.line(header) && lines.line(values)) {
      const size_t colon = header.find(':');
      if (colon == std::string_view::npos ||
          values.substr(0, colon + 1) != header.substr(0, colon + 1)) {
        out.trouble(path);
        return;
      }
      const std::string_view group = header.substr(0, colon);
      Columns* c = groups_.get(group, [](std::string_view) { return Columns{}; });
      if (c == nullptr) return;
      if (c->header != header) learn(*c, group, header, out);
      Scan scan(values.substr(colon + 1));
      int64_t value = 0;
      for (const SeriesId id : c->ids) {
        if (id == kNoSeries) {
          if (!scan.skip(1)) break;
        } else if (scan.number(value)) {
          out.put(id, value);
        } else {
          out.trouble(path);
          break;
        }
      }
    }
  }

  static void learn(Columns& c, std::string_view group, std::string_view header, Out& out) {
    release(c, out);
    c.ids.clear();
    c.header = header;
    Scan scan(header.substr(group.size() + 1));
    for (std::string_view word = scan.word(); !word.empty() && c.ids.size() < 1024;
         word = scan.word()) {
      const std::string name = std::string(group) + "_" + std::string(word);
      c.ids.push_back(wanted(name) ? out.series(kMetrics[0], {}, name) : kNoSeries);
    }
    // Columns behind the last one that is wanted need not be walked over.
    while (!c.ids.empty() && c.ids.back() == kNoSeries) c.ids.pop_back();
  }

  // "Udp6InErrors  0": the group ends with its 6.
  void snmp6(std::string_view text, Out& out) {
    Scan lines(text);
    std::string_view line;
    while (lines.line(line)) {
      Scan scan(line);
      const std::string_view field = scan.word();
      const size_t six = field.find('6');
      if (six == std::string_view::npos || six + 1 >= field.size()) continue;
      SeriesId* id = fields6_.get(field, [&](std::string_view f) {
        const std::string name =
            std::string(f.substr(0, six + 1)) + "_" + std::string(f.substr(six + 1));
        return wanted(name) ? out.series(kMetrics[0], {}, name) : kNoSeries;
      });
      int64_t value = 0;
      if (id != nullptr && *id != kNoSeries && scan.number(value)) out.put(*id, value);
    }
  }

  File netstat_, snmp_, snmp6_;
  ByPosition<Columns> groups_;
  ByPosition<SeriesId> fields6_;
};

}  // namespace

extern const Collector collector_netstat{
    .name = "netstat",
    .what =
        "protocol counters: TCP segments, retransmits, timeouts, drops; UDP and IP errors; "
        "congestion marks",
    .metrics = kMetrics,
    .reads = "/proc/net/netstat, /proc/net/snmp, /proc/net/snmp6",
    .needs = "the host's network namespace",
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Netstat>(w);
    }};

}  // namespace firstwait
