#include "attribute/attribute.h"

#include <algorithm>
#include <cmath>

#include "attribute/job_steps.h"
#include "attribute/ledger.h"
#include "attribute/segments.h"
#include "attribute/trace_steps.h"
#include "attribute/what_if.h"
#include "base/saturate.h"

namespace firstwait {
namespace {

Window window_of(const JobSteps& steps, size_t first, size_t last) {
  Window w;
  w.first = first;
  w.last = last;
  w.empty = false;
  w.from = steps.start[first];
  w.to = steps.start[last] == kNoTime ? kNoTime : sat_add(steps.start[last], steps.time[last]);
  return w;
}

EvidenceLevel level_of(const Evidence& evidence, const TraceSteps& traces, const StepGrid& grid) {
  if (evidence.ops.size() > 0 || !traces.facts.empty()) return EvidenceLevel::ops;
  if (grid.has_phases || grid.has_wait) return EvidenceLevel::phases;
  if (grid.columns() > 0) return EvidenceLevel::steps;
  return evidence.series.empty() ? EvidenceLevel::none : EvidenceLevel::metrics;
}

}  // namespace

Attribution attribute(const Evidence& evidence) {
  Attribution a;
  TraceSteps traces = trace_steps(evidence);
  a.what_if = replay_ops(evidence);
  StepTable ops = evidence.ops.size() > 0 ? op_steps(evidence) : StepTable{};
  const StepTable& table = evidence.steps.size() > 0 ? evidence.steps
                           : traces.steps.size() > 0 ? traces.steps
                                                     : ops;
  StepGrid grid = build_grid(table, evidence);
  find_segments(evidence, grid);
  a.level = level_of(evidence, traces, grid);
  const auto steady = steady_columns(grid.steps);
  if (grid.columns() > 0)
    a.current = steady.empty() ? window_of(grid.steps, 0, grid.columns() - 1)
                               : window_of(grid.steps, steady.front(), steady.back());
  a.current_s = mean_seconds(grid.steps, columns_of(grid.steps, a.current));
  a.ledger = ledger_rows(grid, a.current, a.baseline);
  const CollectiveSplit split = collective_split(grid, table, a.current);
  a.collective_wait_s = split.wait_s;
  a.collective_transfer_s = split.transfer_s;
  a.productive_fraction = compute_fraction(grid, table, a.current);
  a.traces = std::move(traces.facts);
  a.steps = std::move(grid.steps);
  a.ranks = std::move(grid.ranks);
  return a;
}

}  // namespace firstwait
