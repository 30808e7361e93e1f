#include <fmt/core.h>

#include "explain/contention_signals.h"
#include "explain/input_signals.h"
#include "explain/storage_signals.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"neighbour_start events",
                                       "bytes of the storage and of the job's own processes"};
constexpr Threshold kForeign{"bytes of others", 0.5, "ratio",
                             "the majority of what the storage delivers"};
constexpr Threshold kThresholds[] = {kRelevantShare, kForeign, kLatencyRise, kBlocked};

// Bytes per second that the storage delivers and the job does not read itself.
Reading foreign_bytes(const StorageUse& u, const View& view) {
  Reading r;
  const Reading mine = u.shared ? total_reading(rate(view, "firstwait_process_read_bytes_total"))
                                : own_rate(view, "firstwait_process_read_bytes_total", u.host);
  if (!known_now(mine) || !known_now(u.bytes)) return r;
  r.now = std::max(0.0, u.bytes.now - mine.now);
  r.before = u.bytes.has_before() ? std::max(0.0, u.bytes.before - mine.before) : kNaN;
  return r;
}

// The job is blocked in reads and reads less, and others read at least half of what it lost: they
// took it, wherever the queue is. A limit before the disk leaves the disk idle and quick.
bool took_ours(const View& view, const StorageUse& u, const Reading& foreign) {
  const Reading mine = own_rate(view, "firstwait_process_read_bytes_total", u.host);
  return blocked_in_reads(view) >= kBlocked.value && mine.has_before() && foreign.has_before() &&
         mine.now < mine.before && foreign.now - foreign.before >= 0.5 * (mine.before - mine.now);
}

Verdict test(const View& view) {
  Weighing w;
  bool taken = false;
  // A server's own counters: everybody's bytes against those of this job's hosts.
  const auto server = rate(view, "firstwait_storage_read_bytes_total");
  const auto uses = by_storage(storage_uses(view));
  if (!neighbours_watched(view) && server.empty() &&
      (uses.empty() || !has_metric(view, "firstwait_process_read_bytes_total")))
    return untested({kNeeds[0], kNeeds[1]});
  if (!w.gate(stake(view, kStoragePhases))) return std::move(w).verdict("", {});
  std::string what;
  for (const auto& u : uses) {
    Reading foreign = foreign_bytes(u, view);
    double whole = u.bytes.now;
    bool all_seen = !u.shared;  // a client's counters say nothing of the server's other clients
    for (const auto& s : server)
      if (s.entity == u.entity && known_now(u.bytes)) {
        foreign.now = std::max(0.0, s.now - u.bytes.now);
        foreign.before = s.has_before() ? std::max(0.0, s.before - u.bytes.before) : kNaN;
        whole = s.now;
        all_seen = true;
      }
    if (!known_now(foreign) || !(whole > 0)) continue;
    taken = took_ours(view, u, foreign);
    // Nobody waits for a disk while it has no request.
    if (!taken && !u.shared && known_now(u.busy) && u.busy.now < kRelevantShare.value) {
      w.contradicts(
          kStrong, fmt::format("{} is busy {} of the time", u.name, percent(u.busy.now)),
          row("disk busy", "node_disk_io_time_seconds_total", u.entity, u.busy, "ratio", false));
      break;
    }
    auto e = row("bytes of other workloads", "read_bytes", u.entity, foreign, "bytes/s", true);
    const double share = foreign.now / whole;
    if (share < kForeign.value) {
      if (!all_seen) break;
      w.contradicts(kStrong,
                    fmt::format("neighbours read {}, {} of the whole",
                                bytes_per_second(foreign.now), percent(share)),
                    std::move(e));
    } else if (foreign.has_before() && foreign.now < 1.5 * foreign.before) {
      w.contradicts(kPositive,
                    fmt::format("neighbours read as before: {} → {}",
                                bytes_per_second(foreign.before), bytes_per_second(foreign.now)),
                    std::move(e));
    } else {
      w.supports(kStrong, std::move(e)).where(u.entity);
      what = fmt::format("other workloads read {} from {}", bytes_per_second(foreign.now), u.name);
      w.link("Neighbours take the storage", u.entity, bytes_per_second(foreign.now));
    }
    break;
  }
  for (const auto& u : uses)
    if (u.latency.has_before() && known_now(u.latency)) {
      // A neighbour that takes the storage makes it slower for this job.
      auto e = row("time of a read", "latency", u.entity, u.latency, "s", true);
      if (u.latency.now >= kLatencyRise.value * u.latency.before && own_demand_unchanged(view) &&
          !neighbours_at_onset(view, "storage").empty()) {
        w.supports(kPositive, std::move(e));
        w.where(u.entity);
      } else if (!taken && u.latency.now < 1.2 * u.latency.before) {
        w.contradicts(
            kStrong,
            fmt::format("a read takes {} as before", times(u.latency.now / u.latency.before)),
            std::move(e));
      }
      break;
    }
  const auto neighbour = weigh_neighbours(w, view, "storage");
  if (!neighbour.empty())
    what = what.empty() ? fmt::format("{} began to use the storage at the onset", neighbour)
                        : fmt::format("{}: {}", neighbour, what);
  return std::move(w).verdict(what, {kNeeds[0], kNeeds[1]});
}

}  // namespace

extern const Hypothesis hypothesis_contention_storage{
    .id = "contention.storage",
    .claim = "another workload takes the storage",
    .decides = "bytes of others, a neighbour's start at the onset, own demand unchanged",
    .accounts_for = kStoragePhases,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 7,
    .prior = 0,
    .test = test};

}  // namespace firstwait
