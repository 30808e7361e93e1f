// The numbers of the method from one job: slowdown, shares, workers, per step.
#pragma once
#include "attribute/whatif/graph.h"
#include "attribute/whatif/job.h"
#include "model/attribution.h"

namespace firstwait::whatif {

WhatIf replay_results(const Job& job, const Graph& graph, const Rules& rules = {});

}  // namespace firstwait::whatif
