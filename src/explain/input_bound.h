// How long a step takes when one limit of the input side is gone: the operational bound
// max(rest of the step, workers, CPUs) of what the loader's work was measured to ask for.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "explain/hypothesis.h"

namespace firstwait {

enum class InputLimit : unsigned char { reads, workers, cpus };

// Per rank and step, of the ranks that carry the input wait. NaN: not measured.
struct InputDemand {
  double step_s = kNaN;
  double rest_s = kNaN;            // of the step, without the wait
  double workers = kNaN;           // 0: the training thread loads
  double reading_s = kNaN;         // of the workers' time
  double reading_before_s = kNaN;  // in the baseline
  double preparing_s = kNaN;       // of the workers' time, all but reading
  double cpu_s = kNaN;             // CPU time of the workers
  double cpus_s = kNaN;            // CPU time of all workers over their CPUs: the fullest
  double cpus_left_s = kNaN;       // the same over what the training processes leave of it
  double cpus = kNaN;              // how many CPUs those are
  std::string_view cpu_cause;      // what a step is bound by that needs all of them
  double read_bytes = kNaN;        // of the workers
};
// `wait_s`: seconds of the step that the cause takes.
InputDemand input_demand(const View& view, double wait_s);

struct InputBound {
  Interval speedup;  // lo is known only where the demands account for the step as it is now
  std::string_view bound_by;  // a cause; empty: the rest of the step
  std::string assumption;
  std::vector<std::string_view> missing = {};  // signals without which more may bind than was seen
};
// `most` is what removing the wait altogether would bring, above 1.
InputBound without(const InputDemand& demand, InputLimit limit, double most);

}  // namespace firstwait
