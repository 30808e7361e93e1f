// What each worker did in each step, and the measured critical path, from op-level records.
#pragma once
#include <vector>

#include "attribute/whatif/graph.h"
#include "attribute/whatif/job.h"
#include "model/attribution.h"
#include "model/evidence.h"

namespace firstwait::whatif {

struct Timeline {
  StepTable steps;                 // sorted by rank and step
  std::vector<Ns> wait, p2p_wait;  // per row, within collective and p2p; kNoDuration unknown
};

// `own` is what own_durations gives: it tells wait from transfer.
Timeline worker_timeline(const Job& job, const std::vector<double>& own);
// For records that make no job: every row counts, wait and transfer cannot be told apart.
Timeline raw_timeline(const Evidence& evidence);

// From the last end of each step's replay back along what was waited for. The ledger sums to the
// measured step time exactly: what the replay misses (launch delays) is unexplained.
JobSteps critical_path(const Job& job, const Graph& graph, const std::vector<double>& own);

}  // namespace firstwait::whatif
