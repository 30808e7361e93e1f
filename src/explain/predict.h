// What an action would bring (`firstwait what-if`): from the operational bound of the input
// pipeline where loader times are recorded, else from what the findings' gains say. X =
// min(X_storage, X_prepare, X_gpu) in samples/s.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "explain/hypothesis.h"
#include "model/prediction.h"
#include "model/verdict.h"

namespace firstwait {

using Assumptions = std::map<std::string, double>;

// The known action ids.
std::vector<std::string> action_ids();

// `set`: settings after the change ("loader.num_workers"). `assume`: resources
// ("storage.read_bytes_per_second").
Prediction predict(const View& view, const Report& report, const std::string& action,
                   const Assumptions& set, const Assumptions& assume);

// The ceilings as the evidence shows them, before any change.
std::vector<Ceiling> ceilings(const View& view);

}  // namespace firstwait
