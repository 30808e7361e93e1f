// One GPU, one name: sources that know a GPU by its bus address or UUID are tied to those that
// number it.
#pragma once
#include "model/evidence.h"

namespace firstwait {

// Entities such as "gpu/node07:0000:9b:00" (kernel log) and "gpu/node07:GPU-5f…" (list of
// processes) become "gpu/node07:2" where a setting gpu.bus_id or gpu.uuid, or an entity's bus_id,
// of the same host tells the number.
void join_gpu_names(Evidence& evidence);

}  // namespace firstwait
