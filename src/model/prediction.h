// What `firstwait what-if` answers.
#pragma once
#include <string>
#include <vector>

#include "model/attribution.h"

namespace firstwait {

struct Ceiling {
  std::string name;                // "storage", "preparation", "gpu"
  double now = kNaN, then = kNaN;  // samples per second of the whole job; NaN unknown
  std::string from;                // how it was found
};

struct Prediction {
  std::string action;
  Interval speedup;  // a side that is not known is NaN
  std::string then_bound_by, assumption, caution;
  std::vector<Ceiling> ceilings;
  std::vector<std::string> missing;  // what would make the prediction possible or tighter
};

}  // namespace firstwait
