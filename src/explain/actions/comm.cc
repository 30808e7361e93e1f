#include "explain/action_table.h"

namespace firstwait {
namespace {
constexpr std::string_view kCommFixTransport[] = {"network.wrong_transport",
                                                  "network.topology_mismatch"};
constexpr std::string_view kCommOverlap[] = {"sync.communication_bound", "network.congestion"};
constexpr std::string_view kCommCompress[] = {"sync.communication_bound"};
constexpr std::string_view kCommAsync[] = {"sync.rotating_straggler", "sync.communication_bound"};
constexpr ActionRow kRows[] = {
    {"comm.fix_transport", "Make NCCL use the fast network (interface, GPUDirect, environment)",
     kCommFixTransport, GainModel::remove_phase,
     "Check with an all-reduce benchmark before and after"},
    {"comm.overlap", "Overlap communication with backward (buckets, streams)", kCommOverlap,
     GainModel::none, "Kernels share the GPU with communication and may slow down"},
    {"comm.compress", "Compress gradients", kCommCompress, GainModel::none,
     "May cost accuracy: compare the loss"},
    {"comm.async", "Let ranks run ahead of one another (local or asynchronous updates)", kCommAsync,
     GainModel::none, "Stale gradients may change convergence"},
};
}  // namespace
extern const ActionTable action_table_comm{"comm", kRows};
}  // namespace firstwait
