#include "explain/input_signals.h"
#include "explain/storage_ceiling.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"node_disk_* or node_mountstats_nfs_* of the data set",
                                       "storage.read_iops"};
constexpr Threshold kSeek{"time of a read on a disk with seeks", 8e-3, "s",
                          "vendor manuals of 7,200 rpm disks: seek and rotation take 8 ms or more"};
constexpr Threshold kThresholds[] = {kRelevantShare, kFlat, kAtLimit, kLatencyRise, kOpSize, kSeek};

// Large reads end at the bytes per second, small ones at the reads per second.
bool small(const StorageUse& u) {
  const double size = u.read_bytes();
  return known_now(u.ops) && (!(size == size) || size < kOpSize.value);
}

// A disk that serves one request at a time is full when it is busy; NVMe is not.
bool full(const StorageUse& u) {
  return !u.shared && !u.name.starts_with("nvme") && u.busy.now >= 0.95 &&
         u.latency.now >= kSeek.value && !(u.latency.before >= 0.5 * u.latency.now);
}

constexpr ReadCeiling kCeiling{.limit = "storage.read_iops",
                               .metric = "reads",
                               .unit = "1/s",
                               .own = "",
                               .rate = [](const StorageUse& u) -> const Reading& { return u.ops; },
                               .applies = small,
                               .text = [](double ops) { return three_digits(ops) + " reads/s"; },
                               .full = full};

Verdict test(const View& view) { return test_ceiling(view, kCeiling); }

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
