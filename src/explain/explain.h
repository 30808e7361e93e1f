// explain: evidence and attribution in, report out. Runs every hypothesis, ranks the supported ones
// among rivals for the same ledger phase together with "unknown", and fills checklist, gains, chain
// and next measurements.
#pragma once
#include "model/attribution.h"
#include "model/evidence.h"
#include "model/verdict.h"

namespace firstwait {

// `evidence` must be the aligned evidence from which `attribution` was computed.
Report explain(const Evidence& evidence, Attribution attribution);

}  // namespace firstwait
