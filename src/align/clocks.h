// Offsets between the clocks of ranks.
#pragma once
#include "model/evidence.h"

namespace firstwait {

// Sets RankInfo::clock_offset and clock_uncertainty. Between ranks that took part in the same
// device-side all-reduces the offset is the median difference of their ends: an all-reduce ends on
// all members together, up to the last hop, while broadcasts and reduces do not, and host-side
// times may mean "enqueued". Ranks of one host share one clock. Ranks whose times are relative are
// then put by step order beside those whose times are not.
void align_clocks(Evidence& evidence);

}  // namespace firstwait
