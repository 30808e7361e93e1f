// The seven-step checklist: always seven rows, each clear, suspect or unobserved with its key
// number.
#pragma once
#include <vector>

#include "explain/ranking.h"
#include "model/verdict.h"

namespace firstwait {

std::vector<ChecklistRow> checklist(const View& view, const std::vector<Tested>& tested,
                                    const std::vector<Finding>& findings);

// The cheapest measurements that would decide untested rivals, the most decisive first.
std::vector<NextMeasurement> next_measurements(EvidenceLevel level,
                                               const std::vector<Untested>& untested);

}  // namespace firstwait
