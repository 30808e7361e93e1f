#include "explain/between_steps.h"

#include <algorithm>
#include <map>

namespace firstwait {

double between_steps_s(const View& view) {
  const Attribution& a = view.attribution;
  const StepTable& t = view.evidence.steps;
  if (!a.traces.empty() || t.size() == 0 || a.current.empty) return 0;
  std::map<int32_t, Ns> lasted;  // the slowest rank's own step
  for (size_t i = 0; i < t.size(); ++i)
    if (t.kind[i] == StepKind::train || t.kind[i] == StepKind::warmup)
      lasted[t.step[i]] = std::max(lasted[t.step[i]], t.duration[i]);
  double sum = 0, n = 0;
  const auto& unexplained = a.steps.ledger[index(Phase::unexplained)];
  for (size_t c = a.current.first; c <= a.current.last && c < a.steps.size(); ++c) {
    const auto own = lasted.find(a.steps.step[c]);
    if (a.steps.segment[c] != SegmentKind::steady || own == lasted.end()) continue;
    sum += static_cast<double>(std::clamp<Ns>(a.steps.time[c] - own->second, 0, unexplained[c]));
    ++n;
  }
  return n > 0 ? sum / n * 1e-9 : 0;
}

}  // namespace firstwait
