// Verification: before and after as two samples. Effect, interval, test, and an honest "not
// distinguishable".
#pragma once
#include <string>

#include "model/comparison.h"
#include "model/evidence.h"
#include "model/verdict.h"

namespace firstwait {

struct CompareInput {
  std::string label;  // the path that the user named
  const Evidence& evidence;
  const Report& report;
};

Comparison compare(const CompareInput& before, const CompareInput& after);

}  // namespace firstwait
