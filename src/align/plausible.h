// Numbers that cannot be: left out, counted and named before anything is concluded from them.
#pragma once
#include <cstddef>
#include <vector>

#include "model/evidence.h"

namespace firstwait {

// Samples beyond what their metric can show (a utilization above 100 %, negative bytes), whole
// counters that grow faster than time or fall as often as they grow. Series are in time order.
void drop_impossible_samples(Evidence& evidence);
// Phases that add up to more than their step, or than the time to the next one, and all phases
// where most do: a ledger of them would be made up. The step times stay. Steps are in order of rank
// and step.
void drop_impossible_phases(StepTable& steps, Health& health);
// The rows of steps whose durations are in the unit of the others, of steps in order of rank and
// step. A rank is left out whose steps last a hundred times as long as the time between their own
// starts, unless all do.
std::vector<size_t> steps_of_one_unit(const StepTable& steps, Health& health);

}  // namespace firstwait
