#include <fmt/core.h>

#include "explain/input_signals.h"
#include "explain/storage_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::input_wait};
constexpr std::string_view kNeeds[] = {
    "node_mountstats_nfs_operations_request_time_seconds_total{operation}"};
constexpr Threshold kShare{"time of metadata operations", 0.5, "ratio",
                           "the majority of the time of all operations"};
constexpr Threshold kSmall{"median file", 65536, "bytes",
                           "mount.nfs(8): rsize is up to 1 MiB; below 64 KiB a file is one READ "
                           "beside three metadata calls"};
constexpr Threshold kThresholds[] = {kRelevantShare, kShare, kSmall};

Verdict test(const View& view) {
  Weighing w;
  const auto uses = by_storage(storage_uses(view));
  const StorageUse* worst = nullptr;
  for (const auto& u : uses)
    if (known_now(u.metadata_share) &&
        (worst == nullptr || u.metadata_ops.now > worst->metadata_ops.now))
      worst = &u;
  if (worst == nullptr) return untested({kNeeds[0]});
  auto e = row("time of opens, lookups and attributes",
               "node_mountstats_nfs_operations_request_time_seconds_total", worst->entity,
               worst->metadata_share, "ratio", worst->metadata_share.now >= kShare.value);
  if (worst->metadata_share.now < kShare.value) {
    w.contradicts(kStrong,
                  fmt::format("metadata is {} of RPC time", percent(worst->metadata_share.now)),
                  std::move(e));
    return std::move(w).verdict("", {});
  }
  if (!w.gate(stake(view, kPhasesExplained))) return std::move(w).verdict("", {});
  if (worst->metadata_share.has_before() && worst->metadata_share.before >= kShare.value &&
      !(worst->metadata_ops.now >= 2 * worst->metadata_ops.before))
    w.contradicts(
        kPositive,
        fmt::format("metadata took {} before as well", percent(worst->metadata_share.before)), e);
  w.supports(kStrong, std::move(e)).where(worst->entity).where(worst->host);
  const auto size = setting_number(view, "dataset.file_bytes_p50");
  if (size && *size < kSmall.value)
    w.hints(kWeak, fact("small files", "dataset.file_bytes_p50", "", *size, "bytes", true));
  w.link("Opens and lookups dominate", worst->entity,
         percent(worst->metadata_share.now) + " of RPC time");
  return std::move(w).verdict(
      fmt::format("{} of the time at {} goes to opens, lookups and attributes",
                  percent(worst->metadata_share.now), worst->name),
      {});
}

}  // namespace

extern const Hypothesis hypothesis_storage_metadata{
    .id = "storage.metadata",
    .claim = "opening files costs more than reading them",
    .decides = "rate and time of metadata operations against reads",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 4,
    .prior = 0,
    .test = test};

}  // namespace firstwait
