// Where the steps of a trace begin and end.
#pragma once
#include <vector>

#include "attribute/trace/rank_trace.h"

namespace firstwait {

struct StepWindow {
  int32_t step = -1;
  Ns start = 0, end = 0;  // the end is the next step's start where that is known
  Ns body_end = 0;        // where the record says that the step ends
};

// Profiler steps; else a repeating marker of one iteration; else the ends of optimizer steps; else
// the starts of the loader's next(). In time order and disjoint. Empty when nothing repeats: steps
// are never invented.
std::vector<StepWindow> find_steps(const RankTrace& trace, const Names& names);

}  // namespace firstwait
