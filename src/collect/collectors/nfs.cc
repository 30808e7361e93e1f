// Calls and retransmissions of all NFS mounts together: /proc/net/rpc/nfs.
#include "collect/collector.h"

namespace firstwait {
namespace {

constexpr Metric kMetrics[] = {
    {"node_nfs_rpcs_total", MetricKind::counter, "Total number of RPCs performed."},
    {"node_nfs_rpc_retransmissions_total", MetricKind::counter,
     "Number of RPC transmissions performed."},
    {"node_nfs_rpc_authentication_refreshes_total", MetricKind::counter,
     "Number of RPC authentication refreshes performed."}};

class Nfs final : public Sampling {
 public:
  explicit Nfs(const World& world) : file_(world.root.proc + "/net/rpc/nfs") {}

  Presence sample(Out& out) override {
    const auto text = out.read(file_);
    if (!text) return presence_of(file_.error());
    Scan lines(*text);
    std::string_view line;
    while (lines.line(line)) {
      Scan scan(line);
      if (scan.word() != "rpc") continue;
      for (size_t i = 0; i < 3; ++i) {
        int64_t value = 0;
        if (!scan.number(value)) {
          out.trouble("/proc/net/rpc/nfs: rpc");
          return Presence::broken;
        }
        if (ids_[i] == kNoSeries) ids_[i] = out.series(kMetrics[i]);
        out.put(ids_[i], value);
      }
      return Presence::present;
    }
    return Presence::broken;
  }

 private:
  File file_;
  SeriesId ids_[3] = {kNoSeries, kNoSeries, kNoSeries};
};

}  // namespace

extern const Collector collector_nfs{
    .name = "nfs",
    .what = "calls and retransmissions of all NFS mounts together",
    .metrics = kMetrics,
    .reads = "/proc/net/rpc/nfs",
    .needs = "the kernel's NFS client",
    .make = [](const World& w) -> std::unique_ptr<Sampling> { return std::make_unique<Nfs>(w); }};

}  // namespace firstwait
