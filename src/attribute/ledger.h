// The ledger as the report shows it, and the means that belong to it.
#pragma once
#include "attribute/job_steps.h"

namespace firstwait {

// Columns of a window that a mean is taken over: its steady ones, or all when none is steady.
std::vector<size_t> columns_of(const JobSteps& steps, const Window& window);
double mean_seconds(const JobSteps& steps, const std::vector<size_t>& columns);

// Mean seconds per step of each phase over `current`, largest first, unexplained always among them;
// the seconds sum to the mean step time. `before` over `baseline` when that is not empty. Phases
// that are zero in both are left out. Where phases were recorded of some steps only, these stand
// for the window, at its mean step time; when none of them lies in `current`, all of the record do,
// and nothing is said of `before`.
std::vector<LedgerRow> ledger_rows(const StepGrid& grid, const Window& current,
                                   const Window& baseline);

// Mean seconds per step of the window between steps; 0 where that is not known.
double pause_s(const StepGrid& grid, const Window& window);

// Means over the ranks and steps of the window: time in collectives until the last rank arrived,
// and after that.
struct CollectiveSplit {
  double wait_s = kNaN, transfer_s = kNaN;
};
CollectiveSplit collective_split(const StepGrid& grid, const StepTable& table,
                                 const Window& window);

// Forward + backward + optimizer over the step, mean over ranks and steps; NaN when none of the
// three was recorded.
double compute_fraction(const StepGrid& grid, const StepTable& table, const Window& window);

}  // namespace firstwait
