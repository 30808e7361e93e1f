#include "explain/action_table.h"

namespace firstwait {
namespace {
constexpr std::string_view kScheduleSeparate[] = {"contention.storage", "contention.network",
                                                  "contention.cpu", "contention.gpu"};
constexpr std::string_view kScheduleLimitNeighbour[] = {"contention.storage", "contention.network",
                                                        "contention.cpu"};
constexpr std::string_view kScheduleUndoChange[] = {
    "change.placement", "change.software", "change.config", "change.dataset", "change.resources"};
constexpr std::string_view kCapacityAdd[] = {"storage.throughput_ceiling", "storage.iops_ceiling",
                                             "storage.capacity", "contention.storage",
                                             "workload.scaling_limit"};
constexpr ActionRow kRows[] = {
    {"schedule.separate", "Keep the two workloads on different hosts or at different times",
     kScheduleSeparate, GainModel::excess,
     "The other workload may be the more urgent one: ask its owner"},
    {"schedule.limit_neighbour", "Limit what the neighbour may take (I/O, CPU or network limits)",
     kScheduleLimitNeighbour, GainModel::excess, "The neighbour slows down: ask its owner"},
    {"schedule.undo_change", "Undo the change on one run and compare", kScheduleUndoChange,
     GainModel::excess, "A coincidence in time is not proof: one comparison decides"},
    {"capacity.add", "Add capacity where the ceiling is, or stop adding GPUs", kCapacityAdd,
     GainModel::none, "What binds next limits the gain"},
};
}  // namespace
extern const ActionTable action_table_schedule{"schedule", kRows};
}  // namespace firstwait
