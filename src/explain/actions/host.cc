#include "explain/action_table.h"

namespace firstwait {
namespace {
constexpr std::string_view kGcManual[] = {"workload.gc_pause"};
constexpr std::string_view kHostRemoveSync[] = {"workload.host_sync"};
constexpr std::string_view kHostFindPeriodic[] = {"workload.periodic_work"};
constexpr std::string_view kHostStaticShapes[] = {"workload.recompilation"};
constexpr std::string_view kHostAllocator[] = {"workload.memory_fragmentation"};
constexpr std::string_view kHostDistribute[] = {"workload.single_device"};
constexpr std::string_view kLogReduce[] = {"workload.logging_stall"};
constexpr std::string_view kEvalLessOften[] = {"workload.evaluation"};
constexpr std::string_view kHostFreeMemory[] = {"input.memory_pressure"};
constexpr ActionRow kRows[] = {
    {"host.free_memory", "Give the job more memory, or fewer loader workers and a smaller prefetch",
     kHostFreeMemory, GainModel::remove_phase, "Fewer workers may slow the loading: measure both"},
    {"gc.manual", "Collect garbage by hand at a fixed interval on all ranks at once", kGcManual,
     GainModel::remove_phase, "Memory grows between collections"},
    {"host.remove_sync", "Remove scalar reads, prints and synchronisation from the training loop",
     kHostRemoveSync, GainModel::none,
     "Share of time is not gain: removing one wait often moves it to the next"},
    {"host.find_periodic",
     "Profile one slow and one normal step and compare the work of the training thread",
     kHostFindPeriodic, GainModel::none,
     "The work may be wanted (preconditioners, metrics): then do it less often"},
    {"host.static_shapes",
     "Keep shapes and Python values that guards depend on constant (mark_dynamic, padding)",
     kHostStaticShapes, GainModel::remove_phase, "Padding wastes compute"},
    {"host.allocator",
     "Use expandable segments in the CUDA allocator, or keep tensor sizes constant", kHostAllocator,
     GainModel::none, "Try it on one rank first: memory use changes"},
    {"host.distribute", "Run one process per GPU (DistributedDataParallel)", kHostDistribute,
     GainModel::none, "The effective batch grows with the GPUs: adapt the learning rate"},
    {"log.reduce", "Log less often, and outside the training thread", kLogReduce,
     GainModel::remove_phase, ""},
    {"eval.less_often", "Evaluate less often or beside the training", kEvalLessOften,
     GainModel::remove_phase, "Problems are seen later"},
};
}  // namespace
extern const ActionTable action_table_host{"host", kRows};
}  // namespace firstwait
