#include <fmt/core.h>

#include "explain/input_signals.h"
#include "explain/storage_signals.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"node_disk_* or node_mountstats_nfs_* of the data set",
                                       "storage.read_iops"};
constexpr Threshold kSeek{"time of a read on a disk with seeks", 8e-3, "s",
                          "vendor manuals of 7,200 rpm disks: seek and rotation take 8 ms or more"};
constexpr Threshold kThresholds[] = {kRelevantShare, kFlat, kAtLimit, kLatencyRise, kOpSize, kSeek};

std::string ops_text(double ops) { return three_digits(ops) + " reads/s"; }

// Large reads end at the bytes per second, small ones at the reads per second.
bool applies(const StorageUse& u) {
  const double size = u.read_bytes();
  return known_now(u.ops) && (!(size == size) || size < kOpSize.value);
}

void weigh(Weighing& w, const View& view, const StorageUse& u, std::string& because) {
  const Reading& rate = u.ops;
  const double limit = storage_limit(view, u, "storage.read_iops");
  auto e = row("reads", "reads", u.entity, rate, "1/s", true);
  if (limit > 0) {
    const double share = rate.now / limit;
    if (share < kAtLimit.value) {
      w.contradicts(kStrong, fmt::format("reads at {} of the limit", percent(share)), std::move(e));
      return;
    }
    w.supports(kVeryStrong - 1, std::move(e));
    because = fmt::format("reads of {} are at {} of their limit of {}", u.name, percent(share),
                          ops_text(limit));
    w.link("At its ceiling", u.entity, ops_text(rate.now));
    return;
  }
  // A disk that serves one request at a time is full when it is busy; NVMe is not.
  if (!u.shared && !u.name.starts_with("nvme") && u.busy.now >= 0.95 &&
      u.latency.now >= kSeek.value && !(u.latency.before >= 0.5 * u.latency.now)) {
    w.supports(kStrong - 0.5, std::move(e));
    w.hints(0,
            row("disk busy", "node_disk_io_time_seconds_total", u.entity, u.busy, "ratio", true));
    because = fmt::format("disk {} is busy {} of the time and a read takes {}", u.name,
                          percent(u.busy.now), seconds(u.latency.now));
    w.link("Disk full of requests", u.entity, seconds(u.latency.now) + " a read");
    return;
  }
  const double flat = flatness(rate);
  const bool grew =
      u.latency.has_before() && u.latency.now >= kLatencyRise.value * u.latency.before;
  if (flat < kFlat.value) {
    w.contradicts(kPositive,
                  fmt::format("reads reach {} of their own peak: no flat top", percent(flat)),
                  std::move(e));
    return;
  }
  if (u.latency.has_before() && !grew) {
    w.contradicts(
        kStrong,
        fmt::format("latency {} as before: no queue", times(u.latency.now / u.latency.before)),
        row("time of a read", "latency", u.entity, u.latency, "s", false));
    return;
  }
  if (grew && rate.has_before() && rate.now < 0.9 * rate.before) {
    w.contradicts(kPositive,
                  fmt::format("the rate fell: {} of before", percent(rate.now / rate.before)),
                  std::move(e));
    return;
  }
  // A flat rate alone may be the demand; only with a queue behind it is it a ceiling.
  const bool queue = u.depth.now > 2 && !grew;
  if (!grew && !(queue && !u.latency.has_before())) return;
  w.supports(grew ? kStrong : kWeak, std::move(e));
  w.hints(0, row("time of a read", "latency", u.entity, u.latency, "s", true));
  because = fmt::format("reads of {} stay flat at {} while each read takes {}", u.name,
                        ops_text(rate.now), seconds(u.latency.now));
  w.link("Reads slow", u.host, change_text(u.latency.before, u.latency.now))
      .link("At its ceiling", u.entity, ops_text(rate.now));
}

Verdict test(const View& view) {
  const auto uses = by_storage(storage_uses(view));
  const double blocked = blocked_in_reads(view);
  Weighing w;
  if (uses.empty())
    return untested({"node_disk_* or node_mountstats_nfs_* of the data set", "storage.read_iops"});
  if (!w.gate(stake(view, kStoragePhases))) return std::move(w).verdict("", {});
  std::string because;
  for (const auto& u : uses) {
    if (!applies(u)) continue;
    weigh(w, view, u, because);
    if (w.decided()) w.where(u.entity).where(u.host);
    break;  // the busiest
  }
  if (w.decided() && blocked >= kBlocked.value)
    w.hints(kWeak, fact("workers blocked in reads", "loader.fetch", "", blocked, "ratio", true));
  else if (w.decided() && blocked < 0.2)
    w.contradicts(kStrong, fmt::format("workers spend {} of their time in reads", percent(blocked)),
                  fact("workers blocked in reads", "loader.fetch", "", blocked, "ratio", false));
  return std::move(w).verdict(
      because, {"node_disk_* or node_mountstats_nfs_* of the data set", "storage.read_iops"});
}

}  // namespace

extern const Hypothesis hypothesis_storage_iops_ceiling{
    .id = "storage.iops_ceiling",
    .claim = "the storage serves all the operations per second that it can",
    .decides =
        "flat-topped operations per second of small reads while latency grows, or a known limit",
    .accounts_for = kStoragePhases,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 4,
    .prior = 0,
    .test = test};

}  // namespace firstwait
