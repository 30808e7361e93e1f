// From the spans of profiler traces to steps with phases: what the training thread did, and what
// the device did meanwhile.
#pragma once
#include <vector>

#include "model/attribution.h"
#include "model/evidence.h"

namespace firstwait {

struct TraceSteps {
  StepTable steps;  // one row per (rank, profiled step); phases are exclusive and sum to at most
                    // the duration, which reaches to the next step where that is recorded
  std::vector<Ns>
      between;  // per row: of that, time behind the step's own end that no record covers
  std::vector<TraceFacts> facts;  // one per rank with a trace, ordered by rank
};

TraceSteps trace_steps(const Evidence& evidence);

}  // namespace firstwait
