// Inputs that contradict each other: what was chosen and what was left is told.
#pragma once
#include "model/evidence.h"

namespace firstwait {

// After everything was read: counts in evidence.health where job, sizes, rows and settings do not
// agree. Changes nothing else but a world size that no machine room holds, which becomes unknown.
void tell_contradictions(Evidence& evidence);

}  // namespace firstwait
