// What the slow ranks have in common.
#pragma once
#include <vector>

#include "model/attribution.h"
#include "model/evidence.h"

namespace firstwait {

// Tries every dimension in which the ranks differ: host, GPU slot, local rank, stage, data-parallel
// rank, and all that inventory and relations tell of the rank, its host or its device (rack,
// switch, storage server, project ...; attributes such as a driver version too). Fisher's exact
// test, corrected for the values tried. The best first; dimensions whose members are the same ranks
// are one entry. Empty with fewer than two slow ranks, when all are slow, or when nothing is
// significant at 5 %.
std::vector<Grouping> group_slow_ranks(const Evidence& evidence, const std::vector<int32_t>& ranks,
                                       const std::vector<int32_t>& slow);

}  // namespace firstwait
