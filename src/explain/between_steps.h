// Time between the end of one recorded step and the start of the next.
#pragma once
#include "explain/view.h"

namespace firstwait {

// Mean seconds per step of the current window, as far as no phase explains them. Where steps are
// those of a profiler trace its own marks tell what a step is; 0 where nothing does.
double between_steps_s(const View& view);

}  // namespace firstwait
