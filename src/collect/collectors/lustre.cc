// What a Lustre client read, wrote and asked for, by file system: llite's stats.
#include "collect/sys_values.h"

namespace firstwait {
namespace {

constexpr Metric kMetrics[] = {{"lustre_read_samples_total", MetricKind::counter,
                                "Total number of reads that have been recorded."},
                               {"lustre_read_bytes_total", MetricKind::counter,
                                "The total number of bytes that have been read."},
                               {"lustre_write_samples_total", MetricKind::counter,
                                "Total number of writes that have been recorded."},
                               {"lustre_write_bytes_total", MetricKind::counter,
                                "The total number of bytes that have been written."},
                               {"lustre_stats_total", MetricKind::counter,
                                "Number of operations the filesystem has performed."}};

struct Filesystem {
  std::string target;
  File stats;
  ByPosition<std::array<SeriesId, 2>> rows;
};

class Lustre final : public Sampling {
 public:
  explicit Lustre(const World& world)
      : places_{world.root.proc + "/fs/lustre/llite",
                world.root.sys + "/kernel/debug/lustre/llite"} {}

  Presence sample(Out& out) override {
    if (search_.due(out.now())) search(out);
    int error = 0;
    bool any = false;
    for (auto& f : filesystems_) {
      const auto text = out.read(f.stats);
      if (!text) {
        error = f.stats.error();
        continue;
      }
      any = true;
      read(f, *text, out);
    }
    return any ? Presence::present : filesystems_.empty() ? Presence::absent : presence_of(error);
  }

 private:
  void search(Out& out) {
    const auto before = std::move(filesystems_);
    filesystems_.clear();
    for (const std::string& place : places_)
      for (const std::string& name : list_directory(place, 256))
        if (const auto stats = place + "/" + name + "/stats"; read_line(stats))
          filesystems_.push_back({name, File(stats), {}});
    for (const auto& f : before)
      const_cast<Filesystem&>(f).rows.each(
          [&](std::string_view, const std::array<SeriesId, 2>& ids) {
            for (const SeriesId id : ids)
              if (filesystems_.empty()) out.release(id);
          });
  }

  // "read_bytes 1 samples [bytes] 4194304 4194304 4194304": samples, then smallest, largest and
  // sum.
  static void read(Filesystem& f, std::string_view text, Out& out) {
    f.rows.begin();
    Scan lines(text);
    std::string_view line;
    while (lines.line(line)) {
      Scan scan(line);
      const std::string_view name = scan.word();
      int64_t samples = 0, sum = 0, ignored = 0;
      if (name == "snapshot_time" || name.empty() || !scan.number(samples) ||
          scan.word() != "samples")
        continue;
      const bool bytes =
          scan.word() == "[bytes]" && (name == "read_bytes" || name == "write_bytes");
      auto* ids = f.rows.get(name, [&](std::string_view n) -> std::array<SeriesId, 2> {
        const size_t at = n == "read_bytes" ? 0 : 2;
        if (!bytes)
          return {out.series(kMetrics[4],
                             {{"component", "client"}, {"operation", n}, {"target", f.target}}),
                  kNoSeries};
        return {out.series(kMetrics[at], {{"component", "client"}, {"target", f.target}}),
                out.series(kMetrics[at + 1], {{"component", "client"}, {"target", f.target}})};
      });
      if (ids == nullptr) return;
      out.put((*ids)[0], samples);
      if (bytes && scan.number(ignored) && scan.number(ignored) && scan.number(sum))
        out.put((*ids)[1], sum);
    }
    f.rows.sweep([&](const std::array<SeriesId, 2>& ids) {
      for (const SeriesId id : ids) out.release(id);
    });
  }

  std::vector<std::string> places_;
  Occasionally search_;
  std::vector<Filesystem> filesystems_;
};

}  // namespace

extern const Collector collector_lustre{
    .name = "lustre",
    .what = "reads, writes and metadata operations of a Lustre client, by file system",
    .metrics = kMetrics,
    .reads = "/proc/fs/lustre/llite/*/stats, /sys/kernel/debug/lustre/llite/*/stats",
    .needs = "a Lustre mount; CAP_DAC_READ_SEARCH where the statistics lie in debugfs",
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Lustre>(w);
    }};

}  // namespace firstwait
