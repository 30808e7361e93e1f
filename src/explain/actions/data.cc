#include "explain/action_table.h"

namespace firstwait {
namespace {
constexpr std::string_view kDataLocalNvme[] = {
    "storage.throughput_ceiling", "storage.iops_ceiling", "storage.latency",   "storage.metadata",
    "storage.client_degraded",    "contention.storage",   "storage.cold_cache"};
constexpr std::string_view kDataPreloadRam[] = {"storage.cold_cache", "storage.iops_ceiling",
                                                "storage.latency"};
constexpr std::string_view kDataMemoryMap[] = {"storage.metadata"};
constexpr std::string_view kDataPrecache[] = {"storage.cold_cache", "storage.latency",
                                              "change.dataset"};
constexpr std::string_view kDataShard[] = {"storage.throughput_ceiling", "storage.cold_cache",
                                           "contention.storage"};
constexpr std::string_view kDataPackSmallFiles[] = {"storage.metadata", "storage.iops_ceiling"};
constexpr std::string_view kDataFasterFilesystem[] = {
    "storage.throughput_ceiling", "storage.iops_ceiling", "storage.latency", "storage.capacity"};
constexpr ActionRow kRows[] = {
    {"data.local_nvme", "Copy the data set to local NVMe", kDataLocalNvme, GainModel::reads,
     "The first copy takes its time and each node needs the space"},
    {"data.preload_ram", "Load the data set into memory before training", kDataPreloadRam,
     GainModel::reads, "Only when the set and the job fit in memory together"},
    {"data.memory_map", "Map the files instead of reading them", kDataMemoryMap, GainModel::none,
     "On network file systems page faults become small reads without read-ahead: measure first"},
    {"data.precache", "Cache decoded or nearby data before the epoch starts", kDataPrecache,
     GainModel::reads, "The cache must hold the set, or it is evicted before it is used"},
    {"data.shard", "Give each node its own shard of the data set", kDataShard, GainModel::none,
     "Changes the order of samples: shuffle across shards between epochs"},
    {"data.pack_small_files", "Pack small files into a few large ones (tar, record files, LMDB)",
     kDataPackSmallFiles, GainModel::remove_phase,
     "Random access inside a pack needs an index; shuffle within a buffer"},
    {"data.faster_filesystem", "Move the data set to a faster file system or tier",
     kDataFasterFilesystem, GainModel::reads,
     "Its ceiling is shared as well: check who else uses it"},
};
}  // namespace
extern const ActionTable action_table_data{"data", kRows};
}  // namespace firstwait
