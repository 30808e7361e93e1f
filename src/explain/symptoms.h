// Symptoms beside causes, before and now; recovery after a failure; lanes for the page.
#pragma once
#include <vector>

#include "explain/ranking.h"
#include "model/verdict.h"

namespace firstwait {

std::vector<Symptom> symptoms(const View& view);
Recovery recovery(const View& view);
std::vector<SignalLane> lanes(const View& view, const std::vector<Finding>& findings);
std::vector<Observation> observations(const View& view, const std::vector<Tested>& tested);

}  // namespace firstwait
