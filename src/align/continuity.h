// What the times of the steps say of the record itself.
#pragma once
#include "model/evidence.h"

namespace firstwait {

// Adds a restart where the job stood still for longer than ranks wait for each other, a pause where
// it once stood still for long and nothing tells why, and counts
// what makes times doubtful: steps that overlap or run backwards, ranks that stop telling while the
// others go on, clocks of hosts that have no time in common. Steps must be in order, clocks
// aligned.
void check_continuity(Evidence& evidence);

}  // namespace firstwait
