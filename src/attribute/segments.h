// Steps that may not serve as a baseline: start-up, compile, first epoch, evaluation, checkpoint,
// restart.
#pragma once
#include "attribute/job_steps.h"

namespace firstwait {

// Fills grid.steps.segment.
void find_segments(const Evidence& evidence, StepGrid& grid);

// Indexes of the steady and complete columns, in order: those that may be compared with each other.
std::vector<size_t> steady_columns(const StepGrid& grid);

}  // namespace firstwait
