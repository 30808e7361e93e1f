// One table of steps from profiler traces and from what else tells of the same steps (a log).
#pragma once
#include <optional>

#include "model/tables.h"

namespace firstwait {

// `traced` holds the steps of profiler traces, sorted by rank. Phases come from one source only:
// nothing is joined when the rows of `steps` tell of at least as many phases. Otherwise those stay,
// without phases, as the job's history, and a traced step replaces the row of its rank that tells
// of the same time (where both count from the same moment), else the one of the same number.
std::optional<StepTable> join_traces(const StepTable& steps, const StepTable& traced);

}  // namespace firstwait
