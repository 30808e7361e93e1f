#include "explain/storage_ceiling.h"

#include <fmt/core.h>

#include <cmath>
#include <set>

#include "base/text.h"
#include "explain/input_signals.h"

namespace firstwait {
namespace {

void weigh(Weighing& w, const View& view, const ReadCeiling& c, const StorageUse& u,
           std::string& because) {
  const Reading& rate = c.rate(u);
  const double limit = storage_limit(view, u, c.limit);
  auto e = row("reads", std::string(c.metric), u.entity, rate, std::string(c.unit), true);
  if (limit > 0) {
    const double share = rate.now / limit;
    if (share < kAtLimit.value) {
      w.contradicts(kStrong, fmt::format("reads at {} of the limit", percent(share)), std::move(e));
      return;
    }
    w.supports(kVeryStrong - 1, std::move(e));
    because = fmt::format("reads of {} are at {} of their limit of {}", u.name, percent(share),
                          c.text(limit));
    w.link("At its ceiling", u.entity, c.text(rate.now));
    return;
  }
  if (c.full != nullptr && c.full(u)) {
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
                        c.text(rate.now), seconds(u.latency.now));
  w.link("Reads slow", u.host, change_text(u.latency.before, u.latency.now))
      .link("At its ceiling", u.entity, c.text(rate.now));
}

// What passes a limit on a control group at most. The kernel grants whole requests in slices of a
// tenth of a second (block/blk-throttle.c, DFL_THROTL_SLICE): of 68 reads a second 60 pass.
double granted(const ReadCeiling& c, double limit) {
  constexpr double kSlices = 10;
  return c.own.empty() && limit >= kSlices ? kSlices * std::floor(limit / kSlices) : limit;
}

// The job's own reads against a limit on its control groups: requests wait before they reach the
// disk, which stays idle and quick.
void weigh_own_limit(Weighing& w, const View& view, const ReadCeiling& c,
                     const std::vector<StorageUse>& uses, std::string& because) {
  const auto own = sum_by_entity(rate(view, c.own));
  struct RankLimit {
    std::string rank, group;  // the file of the limit, or the rank where no file is told
    double limit;
  };
  std::vector<RankLimit> limits;
  for (const auto* s : settings(view, c.limit))
    if (const auto limit = parse_double(s->value);
        s->entity.starts_with("rank/") && limit && *limit > 0)
      limits.push_back({s->entity, s->source.starts_with('/') ? s->source : s->entity, *limit});
  for (const auto& [rank, group, limit] : limits) {
    Reading reads;
    bool known = false;
    // Ranks in one control group fill its limit together.
    for (const auto& other : limits) {
      const Reading* r = other.group == group ? of_entity(own, other.rank) : nullptr;
      if (r == nullptr) continue;
      reads.now = (known ? reads.now : 0) + r->now;
      reads.before = (known ? reads.before : 0) + r->before;
      known = true;
    }
    if (c.own.empty() && !uses.empty()) {  // not counted by process: the disk's, shared evenly
      std::set<std::string_view> groups;
      for (const auto& other : limits) groups.insert(other.group);
      reads = c.rate(uses.front());
      reads.now /= static_cast<double>(groups.size());
      reads.before /= static_cast<double>(groups.size());
    }
    if (!known_now(reads)) continue;
    auto e = row("reads of the rank", std::string(c.own.empty() ? c.metric : c.own), rank, reads,
                 std::string(c.unit), true);
    if (reads.now < kAtLimit.value * granted(c, limit)) {
      if (!w.decided())
        w.contradicts(kPositive,
                      fmt::format("{} reads at {} of its limit", rank, percent(reads.now / limit)),
                      std::move(e));
      continue;
    }
    w.where(rank);
    if (w.decided()) continue;
    w.supports(kVeryStrong, std::move(e));
    because = fmt::format("{} reads all that the limit on its control group allows: {}", rank,
                          c.text(limit));
    w.link("At its limit", rank, c.text(reads.now));
  }
}

// Workers sleep in reads that the disk does not know of: something before it holds them back.
void weigh_held_back(Weighing& w, const View& view, const ReadCeiling& c, const StorageUse& u,
                     double blocked, std::string& because) {
  const auto own = total_reading(rate(view, c.own));
  const bool idle = known_now(u.busy) && u.busy.now < kRelevantShare.value;
  if (c.own.empty() || !idle || u.shared || !(blocked >= kBlocked.value)) return;
  if (flatness(own) < kFlat.value || !own.has_before() || own.now >= own.before) return;
  w.supports(kPositive,
             row("reads of the job", std::string(c.own), u.entity, own, std::string(c.unit), true));
  w.hints(kWeak,
          row("disk busy", "node_disk_io_time_seconds_total", u.entity, u.busy, "ratio", true));
  because = fmt::format(
      "workers sleep in reads at a flat {} while {} is busy {} of the time: a limit before the "
      "disk",
      c.text(own.now), u.name, percent(u.busy.now));
  w.link("Held back before the disk", u.entity, c.text(own.now));
}

}  // namespace

Verdict test_ceiling(const View& view, const ReadCeiling& c) {
  const auto uses = by_storage(storage_uses(view));
  const double blocked = blocked_in_reads(view);
  const std::initializer_list<std::string_view> needs = {
      "node_disk_* or node_mountstats_nfs_* of the data set", c.limit};
  Weighing w;
  if (uses.empty() && settings(view, c.limit).empty()) return untested(needs);
  if (!w.gate(stake(view, kStoragePhases))) return std::move(w).verdict("", {});
  std::string because;
  weigh_own_limit(w, view, c, uses, because);
  for (const auto& u : uses) {
    if (w.decided() || !c.applies(u)) continue;
    weigh_held_back(w, view, c, u, blocked, because);
    if (!w.decided()) weigh(w, view, c, u, because);
    if (w.decided()) w.where(u.entity).where(u.host);
    break;  // the busiest
  }
  if (w.decided() && blocked >= kBlocked.value)
    w.hints(kWeak, fact("workers blocked in reads", "loader.fetch", "", blocked, "ratio", true));
  else if (w.decided() && blocked < 0.2)
    w.contradicts(kStrong, fmt::format("workers spend {} of their time in reads", percent(blocked)),
                  fact("workers blocked in reads", "loader.fetch", "", blocked, "ratio", false));
  return std::move(w).verdict(because, needs);
}

}  // namespace firstwait
