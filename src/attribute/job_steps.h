// Ranks and steps as a grid, and the job's own step times with their critical path.
#pragma once
#include <vector>

#include "model/attribution.h"
#include "model/evidence.h"

namespace firstwait {

inline constexpr uint32_t kNoRow = UINT32_MAX;

// The job's steps with, for each rank and step, the row that tells of it. Columns are ordered by
// step; an evaluation or checkpoint row is a column of its own behind the training step of the same
// number.
struct StepGrid {
  JobSteps steps;  // segment is left to find_segments, outlier to find_pattern
  RankStepMatrix ranks;
  std::vector<StepKind> kind;  // per column
  std::vector<int32_t> epoch;  // per column; -1 unknown
  std::vector<uint32_t> row;   // rank x step into the table; kNoRow: missing
  std::vector<Ns> wait;  // rank x step, collective wait; kNoDuration: unknown. Empty: never known
  // Per column: 0 when fewer than half as many ranks as usual tell of it, as at the ragged end of a
  // record. The slowest of a few says nothing about the slowest of all.
  std::vector<uint8_t> complete;
  // Per column: 1 when phases of it were recorded. A log beside a trace tells of many steps
  // without.
  std::vector<uint8_t> told;
  std::vector<Ns> pause;  // per column: between the steps of all ranks; kNoDuration unknown
  bool has_phases = false;
  bool has_wait = false;

  size_t columns() const { return steps.size(); }
  uint32_t row_at(size_t rank_row, size_t column) const {
    return row[rank_row * columns() + column];
  }
};

// `table` holds what was measured per (rank, step), sorted by both, from the start of a step to
// that of the next where that is known; `pauses` is the part of each row between the two steps (see
// pauses.h); `evidence` gives collectives and clocks. The job's step time is that of its slowest
// rank. The ledger follows the rank with the
// most own work (its phases, then the transfer of the collectives, the wait taken out) and sums to
// the step time exactly: what is left is unexplained.
StepGrid build_grid(const StepTable& table, const std::vector<Ns>& pauses,
                    const Evidence& evidence);

}  // namespace firstwait
