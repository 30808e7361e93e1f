// Reads, writes and time of each block device: /proc/diskstats.
#include "collect/collector.h"

namespace firstwait {
namespace {

constexpr int64_t kMilli = 1000, kSector = 512;
constexpr Metric kMetrics[] = {
    {"node_disk_reads_completed_total", MetricKind::counter,
     "The total number of reads completed successfully."},
    {"node_disk_reads_merged_total", MetricKind::counter, "The total number of reads merged."},
    {"node_disk_read_bytes_total", MetricKind::counter,
     "The total number of bytes read successfully."},
    {"node_disk_read_time_seconds_total", MetricKind::counter,
     "The total number of seconds spent by all reads.", kMilli},
    {"node_disk_writes_completed_total", MetricKind::counter,
     "The total number of writes completed successfully."},
    {"node_disk_writes_merged_total", MetricKind::counter, "The number of writes merged."},
    {"node_disk_written_bytes_total", MetricKind::counter,
     "The total number of bytes written successfully."},
    {"node_disk_write_time_seconds_total", MetricKind::counter,
     "This is the total number of seconds spent by all writes.", kMilli},
    {"node_disk_io_now", MetricKind::gauge, "The number of I/Os currently in progress."},
    {"node_disk_io_time_seconds_total", MetricKind::counter, "Total seconds spent doing I/Os.",
     kMilli},
    {"node_disk_io_time_weighted_seconds_total", MetricKind::counter,
     "The weighted # of seconds spent doing I/Os.", kMilli},
    {"node_disk_discards_completed_total", MetricKind::counter,
     "The total number of discards completed successfully."},
    {"node_disk_discards_merged_total", MetricKind::counter,
     "The total number of discards merged."},
    {"node_disk_discarded_sectors_total", MetricKind::counter,
     "The total number of sectors discarded successfully."},
    {"node_disk_discard_time_seconds_total", MetricKind::counter,
     "This is the total number of seconds spent by all discards.", kMilli},
    {"node_disk_flush_requests_total", MetricKind::counter,
     "The total number of flush requests completed successfully"},
    {"node_disk_flush_requests_time_seconds_total", MetricKind::counter,
     "This is the total number of seconds spent by all flush requests.", kMilli}};
constexpr size_t kFields = std::size(kMetrics);

bool digits_from(std::string_view name, size_t at) {
  if (at >= name.size()) return false;
  for (; at < name.size(); ++at)
    if (name[at] < '0' || name[at] > '9') return false;
  return true;
}

// Partitions and memory devices are left out, as node_exporter does: their traffic counts on the
// whole device.
bool ignored(std::string_view name) {
  for (const std::string_view prefix : {"ram", "zram", "loop", "fd"})
    if (name.starts_with(prefix) && digits_from(name, prefix.size())) return true;
  for (const std::string_view prefix : {"hd", "sd", "vd", "xvd"})
    if (name.starts_with(prefix) && digits_from(name, prefix.size() + 1)) return true;
  if (name.starts_with("nvme")) {
    const size_t p = name.rfind('p');
    return p != std::string_view::npos && p > 4 && digits_from(name, p + 1);
  }
  return false;
}

struct Device {
  bool ignored = false;
  SeriesId ids[kFields];
};

class Diskstats final : public Sampling {
 public:
  explicit Diskstats(const World& world) : file_(world.root.proc + "/diskstats") {}

  Presence sample(Out& out) override {
    const auto text = out.read(file_);
    if (!text) return presence_of(file_.error());
    devices_.begin();
    Scan lines(*text);
    std::string_view line;
    while (lines.line(line)) {
      Scan scan(line);
      if (!scan.skip(2)) continue;
      const std::string_view name = scan.word();
      if (name.empty()) continue;
      Device* d = devices_.get(name, [](std::string_view n) {
        Device fresh;
        fresh.ignored = ignored(n);
        std::fill(std::begin(fresh.ids), std::end(fresh.ids), kNoSeries);
        return fresh;
      });
      if (d == nullptr || d->ignored) continue;
      size_t field = 0;
      int64_t value = 0;
      // Older kernels have 11 fields, then 15, then 17.
      for (; field < kFields && scan.number(value); ++field) {
        if ((field == 2 || field == 6) && __builtin_mul_overflow(value, kSector, &value)) continue;
        if (d->ids[field] == kNoSeries)
          d->ids[field] = out.series(kMetrics[field], {{"device", name}});
        out.put(d->ids[field], value);
      }
      if (field < 11) out.trouble("/proc/diskstats: " + std::string(name.substr(0, 40)));
    }
    devices_.sweep([&](const Device& d) {
      for (const SeriesId id : d.ids) out.release(id);
    });
    return Presence::present;
  }

 private:
  File file_;
  ByPosition<Device> devices_;
};

}  // namespace

extern const Collector collector_diskstats{
    .name = "diskstats",
    .what = "operations, bytes and time of each block device",
    .metrics = kMetrics,
    .reads = "/proc/diskstats",
    .needs = "",
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Diskstats>(w);
    }};

}  // namespace firstwait
