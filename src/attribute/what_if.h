// What-if replay of pipeline-parallel jobs from op-level records. Method: "Understanding Stragglers
// in Large Model Training Using What-if Analysis", arXiv 2505.05713.
#pragma once
#include <optional>

#include "model/attribution.h"
#include "model/evidence.h"

namespace firstwait {

// Everything that op-level records tell. The parts below give the same, one by one, at the same
// cost each.
struct OpAnalysis {
  std::optional<WhatIf> what_if;
  StepTable steps;
  // Per row of steps: the part of collective and of p2p in which the rank waited for others;
  // kNoDuration unknown.
  std::vector<Ns> wait, p2p_wait;
  JobSteps path;  // the critical path through the graph; empty when there is no graph
};
OpAnalysis analyse_ops(const Evidence& evidence);

// Nothing when there are no ops. WhatIf::refused says why a job with ops cannot be replayed.
std::optional<WhatIf> replay_ops(const Evidence& evidence);

// One row per (worker, step) from op-level records, sorted by rank and step. A worker is (dp_rank,
// stage); its row carries the recorded rank. The duration is the worker's last end. Phases are
// exclusive: compute hides communication that runs beside it, and collective and p2p are what is
// left of wait and transfer.
StepTable op_steps(const Evidence& evidence);

}  // namespace firstwait
