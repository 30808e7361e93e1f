// From the flight recorders of all ranks to the collectives that some rank never reached.
#pragma once
#include "model/evidence.h"

namespace firstwait {

// Fills Evidence::missing_ranks from Evidence::flight. Does nothing without flight records.
void match_flight_records(Evidence& evidence);

}  // namespace firstwait
