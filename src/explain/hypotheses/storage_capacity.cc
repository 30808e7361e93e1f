#include <fmt/core.h>

#include <algorithm>

#include "explain/input_signals.h"
#include "explain/storage_signals.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"node_filesystem_avail_bytes and node_filesystem_size_bytes",
                                       "dataset.path"};
constexpr Threshold kFree{
    "space left", 0.05, "ratio",
    "mke2fs(8) and ldiskfs reserve 5 % because a fuller file system fragments and slows for good"};
constexpr Threshold kThresholds[] = {kRelevantShare, kFree};

std::string label(const Reading& r, std::string_view key) {
  for (const auto& [k, v] : r.labels)
    if (k == key) return v;
  return {};
}

bool holds(const std::string& mount, const std::string& path) {
  return !mount.empty() && path.starts_with(mount) &&
         (mount == "/" || path.size() == mount.size() || path[mount.size()] == '/');
}

Verdict test(const View& view) {
  const auto size = gauge(view, "node_filesystem_size_bytes");
  const auto left = gauge(view, "node_filesystem_avail_bytes");
  const auto path = setting(view, "dataset.path");
  Weighing w;
  const Reading* fullest = nullptr;
  double least = 2, least_before = kNaN;
  size_t depth = 0;
  for (const auto& a : left)
    for (const auto& s : size) {
      const auto mount = label(a, "mountpoint");
      if (s.entity != a.entity || label(s, "mountpoint") != mount || !(s.now > 0)) continue;
      // With a known path only the mount that holds it counts: the longest that matches.
      if (path && (!holds(mount, *path) || mount.size() < depth)) continue;
      if (path && mount.size() > depth) least = 2;
      if (path) depth = mount.size();
      if (a.now / s.now >= least) continue;
      least = a.now / s.now;
      least_before = a.has_before() && s.before > 0 ? a.before / s.before : kNaN;
      fullest = &a;
    }
  if (fullest == nullptr) return untested({kNeeds[0]});
  auto e = fact("space left on " + label(*fullest, "mountpoint"), "node_filesystem_avail_bytes",
                fullest->entity, least, "ratio", least < kFree.value, least_before);
  if (least >= kFree.value) {
    w.contradicts(kStrong,
                  fmt::format("{} of {} is free", percent(least), label(*fullest, "mountpoint")),
                  std::move(e));
    return std::move(w).verdict("", {});
  }
  if (!w.gate(stake(view, kStoragePhases))) return std::move(w).verdict("", {});
  // A full file system is a fact; that it slows this job is not measured.
  const bool checkpoint = stake(view, {Phase::checkpoint}).state == Stake::State::present;
  w.supports(path || checkpoint ? 1.5 : 0.5 + kWeak / 2, std::move(e)).where(fullest->entity);
  w.link("File system nearly full", label(*fullest, "mountpoint"), percent(least) + " free");
  return std::move(w).verdict(fmt::format("{} has only {} of its space left",
                                          label(*fullest, "mountpoint"), percent(least)),
                              {});
}

}  // namespace

extern const Hypothesis hypothesis_storage_capacity{
    .id = "storage.capacity",
    .claim = "the file system or target is nearly full",
    .decides = "space left per file system",
    .accounts_for = kStoragePhases,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 4,
    .prior = 0,
    .test = test};

}  // namespace firstwait
