#include "attribute/level.h"

#include <algorithm>

#include "attribute/ledger.h"
#include "attribute/thresholds.h"

namespace firstwait {
namespace {

EvidenceLevel level_of(const Evidence& evidence, const StepGrid& grid, const Attribution& a) {
  if (evidence.ops.size() > 0 || !a.traces.empty()) return EvidenceLevel::ops;
  if (grid.has_phases || grid.has_wait) return EvidenceLevel::phases;
  if (grid.columns() > 0) return EvidenceLevel::steps;
  return evidence.series.empty() ? EvidenceLevel::none : EvidenceLevel::metrics;
}

// Of the traces by their number of steps, else from the phases.
double productive(const StepTable& table, const StepGrid& grid, const Attribution& a) {
  double sum = 0, weight = 0;
  for (const TraceFacts& t : a.traces)
    if (t.productive_fraction == t.productive_fraction && t.steps > 0)
      sum += t.productive_fraction * t.steps, weight += t.steps;
  return weight > 0 ? sum / weight : compute_fraction(grid, table, a.current);
}

// Time in which the training thread neither computes nor prepares computing: a better placed job
// would not have it. Exchanging what was computed is part of the work, unless it takes longer.
double waiting_share(const StepGrid& grid, const Attribution& a) {
  double share = 0, computing = 0;
  for (const LedgerRow& row : a.ledger) {
    if (is_compute(row.phase)) computing += row.share;
    switch (row.phase) {
      case Phase::input_wait:
      case Phase::h2d:
      case Phase::collective:
      case Phase::p2p:
      case Phase::checkpoint:
      case Phase::evaluation:
      case Phase::gc:
      case Phase::logging:
        share += row.share;
        break;
      default:
        break;
    }
  }
  const double between = pause_s(grid, a.current) / a.current_s;
  for (const LedgerRow& row : a.ledger)  // saves and evaluations told between steps are counted
    if (row.phase == Phase::unexplained) share += std::min(row.share, between);
  const double exchanging = a.collective_transfer_s / a.current_s;
  return exchanging < computing ? std::max(0.0, share - exchanging) : share;
}

// The peers' wait for the slowest: what is lost on the critical path does not show there, but on
// everybody else.
double peers_wait_share(const Attribution& a) {
  return a.collective_wait_s == a.collective_wait_s && a.current_s > 0
             ? a.collective_wait_s / a.current_s
             : 0;
}

void use_what_if(Attribution& a) {
  if (!a.what_if || !a.what_if->refused.empty()) return;
  a.replay_error = a.what_if->replay_error;
  if (a.baseline_kind != BaselineKind::none || !(a.what_if->slowdown > 0)) return;
  a.baseline_kind = BaselineKind::peers;  // the ideal is made of the job's own workers
  a.baseline_s = a.what_if->ideal_s;
  a.slowdown = a.what_if->slowdown;
}

}  // namespace

void fill_level(const Evidence& evidence, const StepTable& table, const StepGrid& grid,
                Attribution& a) {
  a.level = level_of(evidence, grid, a);
  a.ledger = ledger_rows(grid, a.current, a.baseline);
  const CollectiveSplit split = collective_split(grid, table, a.current);
  a.collective_wait_s = split.wait_s;
  a.collective_transfer_s = split.transfer_s;
  a.productive_fraction = productive(table, grid, a);
  use_what_if(a);
  if (a.pattern.kind != PatternKind::none || grid.columns() == 0) return;
  // Removing a share of 1 - 1/1.1 would make the job 1.1 times as fast.
  const double enough = 1 - 1 / kMinimumEffect;
  const bool slow = a.what_if && a.what_if->slowdown >= kMinimumEffect;
  const double waiting = waiting_share(grid, a);
  if (slow || waiting >= enough || peers_wait_share(a) >= enough) {
    a.pattern.kind = PatternKind::chronic;
    a.pattern.cost_s_per_step = waiting * a.current_s;
  }
}

}  // namespace firstwait
