// What-if replay of pipeline-parallel jobs from op-level records. Method: "Understanding Stragglers in Large Model
// Training Using What-if Analysis", arXiv 2505.05713.
#pragma once
#include <optional>

#include "model/attribution.h"
#include "model/evidence.h"

namespace firstwait {

// Nothing when there are no ops. WhatIf::refused says why a job with ops cannot be replayed.
std::optional<WhatIf> replay_ops(const Evidence& evidence);

// One row per (worker, step) from op-level records. A worker is (dp_rank, stage); its row carries the recorded rank.
// Phases: forward, backward and optimizer are the ops' own durations; collective and p2p hold wait and transfer.
StepTable op_steps(const Evidence& evidence);

}  // namespace firstwait
