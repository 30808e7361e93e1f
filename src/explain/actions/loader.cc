#include "explain/action_table.h"

namespace firstwait {
namespace {
constexpr std::string_view kLoaderMoreWorkers[] = {"input.loading_in_main_thread",
                                                   "input.loader_underprovisioned"};
constexpr std::string_view kLoaderPersistentWorkers[] = {"input.worker_respawn"};
constexpr std::string_view kLoaderPinMemory[] = {"input.host_copy"};
constexpr std::string_view kLoaderPrefetch[] = {"input.loader_underprovisioned", "storage.latency"};
constexpr ActionRow kRows[] = {
    {"loader.more_workers", "Give each rank more loader workers", kLoaderMoreWorkers,
     GainModel::workers, "Workers need a CPU and memory each: no more of them than allowed cores"},
    {"loader.persistent_workers", "Keep the loader workers between epochs (persistent_workers)",
     kLoaderPersistentWorkers, GainModel::excess,
     "Workers keep their memory, and their view of the data set, for the whole run"},
    {"loader.pin_memory",
     "Pin the batches and copy them without blocking (pin_memory, non_blocking)", kLoaderPinMemory,
     GainModel::remove_phase, "Pinned memory cannot be swapped: leave room for the page cache"},
    {"loader.prefetch", "Prefetch more batches per worker (prefetch_factor)", kLoaderPrefetch,
     GainModel::none,
     "Evens out bursts only; it does not raise the mean rate, and each batch takes memory"},
};
}  // namespace
extern const ActionTable action_table_loader{"loader", kRows};
}  // namespace firstwait
