// What each worker did in each step, and the measured critical path, from op-level records.
#pragma once
#include <vector>

#include "attribute/whatif/graph.h"
#include "attribute/whatif/job.h"
#include "model/attribution.h"
#include "model/evidence.h"

namespace firstwait::whatif {

struct Timeline {
  StepTable steps;       // sorted by rank and step
  std::vector<Ns> wait;  // per row; kNoDuration unknown
};

// `own` is what own_durations gives: it tells wait from transfer.
Timeline worker_timeline(const Job& job, const std::vector<double>& own);
// For records that make no job: every row counts, wait and transfer cannot be told apart.
Timeline raw_timeline(const Evidence& evidence);

// From the last end of each step back along what was really waited for. The ledger sums to the
// step time exactly; gaps between an operation and what it waited for are unexplained.
JobSteps critical_path(const Job& job, const Graph& graph);

}  // namespace firstwait::whatif
