// The numbers of the method from one job: slowdown, shares, workers, per step.
#pragma once
#include <vector>

#include "attribute/whatif/graph.h"
#include "attribute/whatif/job.h"
#include "model/attribution.h"

namespace firstwait::whatif {

// Measured step times: the latest end in each step.
std::vector<double> measured_times(const Job& job);

// `own` is what own_durations gives under the same rules.
WhatIf replay_results(const Job& job, const Graph& graph, const std::vector<double>& own,
                      const Rules& rules = {});

}  // namespace firstwait::whatif
