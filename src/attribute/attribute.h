// attribute: aligned evidence in, ledger, onset, pattern, ranks compared and what-if out.
#pragma once
#include "model/attribution.h"
#include "model/evidence.h"

namespace firstwait {

Attribution attribute(const Evidence& evidence);

}  // namespace firstwait
