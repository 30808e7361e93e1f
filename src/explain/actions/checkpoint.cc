#include "explain/action_table.h"

namespace firstwait {
namespace {
constexpr std::string_view kCheckpointAsync[] = {"workload.checkpoint_stall"};
constexpr std::string_view kCheckpointInterval[] = {"workload.checkpoint_stall",
                                                    "workload.checkpoint_growth"};
constexpr std::string_view kCheckpointLocalThenCopy[] = {
    "workload.checkpoint_stall", "workload.checkpoint_growth", "storage.capacity"};
constexpr ActionRow kRows[] = {
    {"checkpoint.async", "Save in the background", kCheckpointAsync, GainModel::remove_phase,
     "The staging copy takes memory and host bandwidth; it has made steps slower: measure"},
    {"checkpoint.interval", "Save less often", kCheckpointInterval, GainModel::none,
     "More work is lost when the job fails"},
    {"checkpoint.local_then_copy", "Save to local storage first and copy from there",
     kCheckpointLocalThenCopy, GainModel::remove_phase,
     "A node that dies before the copy takes its save along"},
};
}  // namespace
extern const ActionTable action_table_checkpoint{"checkpoint", kRows};
}  // namespace firstwait
