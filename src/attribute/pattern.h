// The shape of the slowness beside lasting changes: periodic, or isolated slow steps.
#pragma once
#include "attribute/job_steps.h"
#include "attribute/onset.h"

namespace firstwait {

struct Regularity {
  Pattern pattern;                // none, periodic or intermittent
  std::vector<Outlier> outliers;  // isolated slow steps that belong to no regular work, in order
};

// `changes` is of the steady columns' times. Fills steps.outlier. A slow step that is an evaluation
// or a save, or that lies on a significant lattice, is no outlier; a lattice that costs less than
// kMinimumCost is no pattern either.
Regularity find_regularity(StepGrid& grid, const std::vector<size_t>& steady,
                           const Changes& changes);

}  // namespace firstwait
