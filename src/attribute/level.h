// What the evidence can carry: its level, the ledger over the windows, the productive fraction, and
// whether the job is slow without a past (chronic).
#pragma once
#include "attribute/job_steps.h"
#include "model/attribution.h"
#include "model/evidence.h"

namespace firstwait {

void fill_level(const Evidence& evidence, const StepTable& table, const StepGrid& grid,
                Attribution& a);

}  // namespace firstwait
