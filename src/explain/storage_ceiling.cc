#include "explain/storage_ceiling.h"

#include <fmt/core.h>

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

}  // namespace

Verdict test_ceiling(const View& view, const ReadCeiling& c) {
  const auto uses = by_storage(storage_uses(view));
  const double blocked = blocked_in_reads(view);
  const std::initializer_list<std::string_view> needs = {
      "node_disk_* or node_mountstats_nfs_* of the data set", c.limit};
  Weighing w;
  if (uses.empty()) return untested(needs);
  if (!w.gate(stake(view, kStoragePhases))) return std::move(w).verdict("", {});
  std::string because;
  for (const auto& u : uses) {
    if (!c.applies(u)) continue;
    weigh(w, view, c, u, because);
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
