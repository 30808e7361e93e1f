#include "explain/input_signals.h"
#include "explain/storage_ceiling.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"node_disk_* or node_mountstats_nfs_* of the data set",
                                       "storage.read_bytes_per_second"};
constexpr Threshold kThresholds[] = {kRelevantShare, kFlat, kAtLimit, kLatencyRise, kOpSize};

// Large reads end at the bytes per second, small ones at the reads per second.
bool large(const StorageUse& u) { return known_now(u.bytes) && !(u.read_bytes() < kOpSize.value); }

constexpr ReadCeiling kCeiling{
    .limit = "storage.read_bytes_per_second",
    .metric = "read_bytes",
    .unit = "bytes/s",
    .own = "firstwait_process_read_bytes_total",
    .rate = [](const StorageUse& u) -> const Reading& { return u.bytes; },
    .applies = large,
    .text = [](double rate) { return bytes_per_second(rate); }};

Verdict test(const View& view) { return test_ceiling(view, kCeiling); }

}  // namespace

extern const Hypothesis hypothesis_storage_throughput_ceiling{
    .id = "storage.throughput_ceiling",
    .claim = "the storage delivers all the bytes per second that it can",
    .decides = "flat-topped bytes per second while latency grows with depth, or a known limit",
    .accounts_for = kStoragePhases,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 4,
    .prior = 0,
    .test = test};

}  // namespace firstwait
