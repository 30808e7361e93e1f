#pragma once
#include "params.h"

namespace lab {

// Trains as one rank until the job ends; the exit code.
int train(const Params& p, int rank);

}  // namespace lab
