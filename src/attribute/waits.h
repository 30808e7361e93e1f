// Splits collectives into wait and transfer.
#pragma once
#include <vector>

#include "attribute/job_steps.h"

namespace firstwait {

// Wait of each rank in each step of the grid (its `row` and `ranks` are filled), or nothing when
// neither records of collectives nor collective phases of at least two ranks exist. With records:
// transfer = end - max(start in group), where the members' clocks can be compared, otherwise the
// shortest member's duration (the last to arrive waits least). With phases only: one barrier, then
// transfer, which is the shortest collective phase of the step.
std::vector<Ns> collective_waits(const StepTable& table, const Evidence& evidence,
                                 const StepGrid& grid);

}  // namespace firstwait
