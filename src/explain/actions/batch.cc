#include "explain/action_table.h"

namespace firstwait {
namespace {
constexpr std::string_view kBatchIncrease[] = {"workload.batch_too_small",
                                               "sync.communication_bound"};
constexpr std::string_view kBatchAccumulate[] = {"sync.communication_bound"};
constexpr std::string_view kPrecisionAmp[] = {"healthy.compute_bound"};
constexpr ActionRow kRows[] = {
    {"batch.increase", "Raise the batch per GPU", kBatchIncrease, GainModel::none,
     "May change convergence: adapt the learning rate; does not cure an input wait"},
    {"batch.accumulate", "Accumulate gradients over several small batches", kBatchAccumulate,
     GainModel::none,
     "Raises the effective batch and may change convergence; does not cure an input wait or launch "
     "gaps"},
    {"precision.amp", "Use mixed precision (AMP)", kPrecisionAmp, GainModel::none,
     "Helps compute-bound steps only, not an input wait; may change convergence: watch the loss"},
};
}  // namespace
extern const ActionTable action_table_batch{"batch", kRows};
}  // namespace firstwait
