// What of a step crosses a network at all.
#pragma once
#include <vector>

#include "explain/weigh.h"

namespace firstwait {

// Collectives of ranks on one host do not, nor does the reading of a local file system. Unknown
// counts as crossing.
std::vector<Phase> network_phases(const View& view);
// The stake of those phases, or of the time no record explains. Contradicts and returns false where
// nothing of the job crosses a network.
bool gate_network(Weighing& w, const View& view);

}  // namespace firstwait
