#include "explain/action_table.h"

namespace firstwait {
namespace {
constexpr std::string_view kCpuWidenAffinity[] = {"input.cpu_entitlement"};
constexpr std::string_view kCpuRaiseQuota[] = {"input.cpu_entitlement", "input.cpu_saturated",
                                               "change.resources"};
constexpr std::string_view kThreadsLimit[] = {"input.thread_oversubscription"};
constexpr std::string_view kNumaBind[] = {"input.memory_bandwidth", "input.cpu_entitlement"};
constexpr ActionRow kRows[] = {
    {"cpu.widen_affinity", "Widen the affinity mask to all CPUs of the job", kCpuWidenAffinity,
     GainModel::cpus, "Keep each rank on the NUMA node of its GPU"},
    {"cpu.raise_quota", "Ask for more CPUs (cpus-per-task, CPU limit, cpuset)", kCpuRaiseQuota,
     GainModel::cpus, "Takes them from others on the host"},
    {"threads.limit", "Limit compute threads per process (OMP_NUM_THREADS, torch.set_num_threads)",
     kThreadsLimit, GainModel::remove_phase,
     "Too few slow down CPU operators: try cores divided by processes"},
    {"numa.bind", "Bind each rank and its memory to the NUMA node of its GPU", kNumaBind,
     GainModel::none, "A strict memory policy can run out of memory on one node"},
};
}  // namespace
extern const ActionTable action_table_cpu{"cpu", kRows};
}  // namespace firstwait
