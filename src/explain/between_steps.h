// Time between the end of one recorded step and the start of the next.
#pragma once
#include "explain/view.h"

namespace firstwait {

// Mean seconds per step of the current window, as far as no phase explains them; 0 where step rows
// do not tell (profiler traces: what no record of theirs covers is in the ledger).
double between_steps_s(const View& view);

}  // namespace firstwait
