#include <fmt/core.h>

#include "explain/input_signals.h"
#include "explain/storage_signals.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {
    "node_mountstats_nfs_operations_*_time_seconds_total or node_disk_read_time_seconds_total",
    "loader times per step"};
constexpr Threshold kThresholds[] = {kRelevantShare, kLatencyRise, kFlat, kAtLimit, kBlocked};

bool at_ceiling(const View& view, const StorageUse& u, std::string* reason) {
  const double limit = storage_limit(view, u, "storage.read_bytes_per_second");
  if (limit > 0 && u.bytes.now >= kAtLimit.value * limit) {
    *reason = fmt::format("rate at {} of the limit", percent(u.bytes.now / limit));
    return true;
  }
  // More bytes than before, a flat top and slower reads: a queue at a ceiling, not a slow server.
  if (!(limit > 0) && u.bytes.has_before() && u.bytes.now >= 1.1 * u.bytes.before &&
      flatness(u.bytes) >= kFlat.value) {
    *reason = fmt::format("reads rose from {} to a flat {}", bytes_per_second(u.bytes.before),
                          bytes_per_second(u.bytes.now));
    return true;
  }
  return false;
}

void weigh(Weighing& w, const View& view, const StorageUse& u, double blocked,
           std::string& because) {
  auto e = row("time of a read",
               u.shared ? "node_mountstats_nfs_operations" : "node_disk_read_time_seconds_total",
               u.entity, u.latency, "s", true);
  if (u.latency.has_before()) {
    if (u.latency.now < kLatencyRise.value * u.latency.before) {
      w.contradicts(kStrong,
                    fmt::format("a read takes {}, {} as before", seconds(u.latency.now),
                                times(u.latency.now / u.latency.before)),
                    std::move(e));
      return;
    }
    w.supports(kStrong, std::move(e));
  } else if (blocked >= kBlocked.value ||
             (blocked != blocked && u.shared && u.ops.now * u.latency.now >= 1)) {
    // Chronic: one worker or more is always inside a read, on average.
    w.supports(blocked >= kBlocked.value ? kPositive + 0.5 : kPositive, std::move(e));
    w.hints(0, fact("readers inside a read at any time", "latency", u.entity,
                    u.ops.now * u.latency.now, "readers", true));
  } else if (blocked == blocked) {
    w.contradicts(kStrong, fmt::format("workers spend {} of their time in reads", percent(blocked)),
                  std::move(e));
    return;
  } else {
    return;
  }
  std::string reason;
  if (at_ceiling(view, u, &reason)) {
    w.contradicts(kStrong + 1, reason,
                  row("read rate", "read_bytes", u.entity, u.bytes, "bytes/s", false));
    return;
  }
  if (u.metadata_share.now > 0.5)
    w.contradicts(kStrong,
                  fmt::format("{} of the time goes to metadata", percent(u.metadata_share.now)),
                  row("metadata", "metadata_share", u.entity, u.metadata_share, "ratio", false));
  because = fmt::format(
      "a read from {} takes {}", u.name,
      u.latency.has_before()
          ? fmt::format("{} instead of {}", seconds(u.latency.now), seconds(u.latency.before))
          : seconds(u.latency.now));
  w.where(u.entity).where(u.host);
  w.link("Reads slow", u.entity, change_text(u.latency.before, u.latency.now));
}

Verdict test(const View& view) {
  const auto uses = by_storage(storage_uses(view));
  const double blocked = blocked_in_reads(view);
  Weighing w;
  const Stake s = stake(view, kStoragePhases);
  bool any = false;
  for (const auto& u : uses) any = any || known_now(u.latency);
  if (!any && !(blocked == blocked)) return untested({kNeeds[0]});
  if (!w.gate(s)) return std::move(w).verdict("", {});
  std::string because;
  for (const auto& u : uses) {
    if (!known_now(u.latency)) continue;
    // Nobody waits for a disk while it has no request.
    if (!u.shared && known_now(u.busy) && u.busy.now < kRelevantShare.value) {
      w.contradicts(
          kStrong, fmt::format("{} is busy {} of the time", u.name, percent(u.busy.now)),
          row("disk busy", "node_disk_io_time_seconds_total", u.entity, u.busy, "ratio", false));
      break;
    }
    weigh(w, view, u, blocked, because);
    if (setting(view, "dataset.access").value_or("") == "mmap" && w.decided())
      w.hints(kWeak, fact("page faults become small reads", "dataset.access", u.entity,
                          u.read_bytes(), "bytes", true));
    break;
  }
  if (!any) {
    // Only the workers' own times: they read, but what is slow is not seen.
    if (blocked >= kBlocked.value) {
      // A file system that is known to be remote and keeps no counters of its own: FUSE, most
      // often.
      const bool remote = data_is_remote(view).value_or(false);
      w.supports(remote ? kStrong : 1.5,
                 fact("workers blocked in reads", "loader.fetch", "", blocked, "ratio", true));
      because = fmt::format("loader workers spend {} of their time in reads", percent(blocked));
      if (const auto device = setting(view, "dataset.device"); remote && device) {
        because += " from " + *device;
        w.where("storage/" + *device).link("Reads slow", "storage/" + *device, percent(blocked));
      }
    } else {
      w.contradicts(kStrong,
                    fmt::format("workers spend {} of their time in reads", percent(blocked)),
                    fact("workers blocked in reads", "loader.fetch", "", blocked, "ratio", false));
    }
  } else if (w.decided() && blocked >= kBlocked.value) {
    w.hints(kWeak, fact("workers blocked in reads", "loader.fetch", "", blocked, "ratio", true));
  }
  for (const auto& r : gauge(view, "node_procs_blocked"))
    if (w.decided() && r.now >= 1 && (!r.has_before() || r.now >= 2 * r.before)) {
      w.hints(0.5, row("processes blocked in I/O", "node_procs_blocked", r.entity, r, "processes",
                       true));
      break;
    }
  return std::move(w).verdict(because, {kNeeds[0]});
}

}  // namespace

extern const Hypothesis hypothesis_storage_latency{
    .id = "storage.latency",
    .claim = "reads wait on a remote or slow server",
    .decides = "read latency or RPC time up, throughput below the ceiling",
    .accounts_for = kStoragePhases,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 4,
    .prior = 0,
    .test = test};

}  // namespace firstwait
