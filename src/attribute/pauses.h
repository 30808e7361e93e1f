// Time between the end of a rank's step and the start of its next one.
#pragma once
#include <vector>

#include "model/evidence.h"

namespace firstwait {

// Whether any phase of the row was recorded.
bool has_phases(const StepTable& table, size_t row);

// One entry per row of `table`: from the end of its step to the start of the rank's next one, 0
// where they meet or overlap, kNoDuration where that is not known: no start times, the next step is
// not recorded, or the job was restarted before it. Start times are told to some resolution only;
// what that can explain is no pause, so that each pause is the least which the record proves. Of
// rows without phases, what an evaluation took is left out.
std::vector<Ns> pauses(const StepTable& table, const Evidence& evidence);

// `table` with the pauses in the durations, and in the phases of rows that have phases: what saves
// and evaluations took of a pause. The rest of it is in no phase.
StepTable with_pauses(const StepTable& table, const std::vector<Ns>& pauses,
                      const Evidence& evidence);

}  // namespace firstwait
