#include "explain/between_steps.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/saturate.h"
#include "model/trace_names.h"

namespace firstwait {
namespace {

// What the slowest rank's own part of each step lasts, by step.
using Lasted = std::map<int32_t, Ns>;

Lasted of_rows(const StepTable& t) {
  Lasted lasted;
  for (size_t i = 0; i < t.size(); ++i)
    if (t.kind[i] == StepKind::train || t.kind[i] == StepKind::warmup)
      lasted[t.step[i]] = std::max(lasted[t.step[i]], t.duration[i]);
  return lasted;
}

// The profiler's marks of the steps; of ranks without, what carries its step by itself.
Lasted of_spans(const Evidence& evidence) {
  const SpanTable& s = evidence.spans;
  std::vector<size_t> rows;
  std::map<NameId, bool> marks;
  std::set<int32_t> marked;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s.step[i] < 0 || s.lane[i] != Lane::main_thread || s.duration[i] < 0) continue;
    rows.push_back(i);
    const auto [mark, fresh] = marks.try_emplace(s.op[i], false);
    if (fresh) mark->second = classify_trace_name(evidence.names[s.op[i]]) == TraceName::step;
    if (mark->second) marked.insert(s.rank[i]);
  }
  std::map<std::pair<int32_t, int32_t>, std::pair<Ns, Ns>> bodies;  // rank and step: start, end
  for (const size_t i : rows) {
    if (marked.contains(s.rank[i]) && !marks[s.op[i]]) continue;
    const Ns end = sat_add(s.start[i], s.duration[i]);
    const auto [at, fresh] =
        bodies.try_emplace(std::pair(s.rank[i], s.step[i]), std::pair(s.start[i], end));
    at->second.first = std::min(at->second.first, s.start[i]);
    at->second.second = std::max(at->second.second, end);
  }
  Lasted lasted;
  for (const auto& [where, body] : bodies)
    lasted[where.second] = std::max(lasted[where.second], sat_sub(body.second, body.first));
  return lasted;
}

}  // namespace

double between_steps_s(const View& view) {
  const Attribution& a = view.attribution;
  if (a.current.empty) return 0;
  const Lasted lasted = a.traces.empty() ? of_rows(view.evidence.steps) : of_spans(view.evidence);
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
