// Ranks compared with their peers: who is late, for how long, and who is merely different.
#pragma once
#include "attribute/job_steps.h"
#include "model/evidence.h"

namespace firstwait {

struct Workers {
  std::vector<RankStat> stats;          // one per rank, in the grid's order
  std::vector<Straggle> straggles;      // by first step
  std::vector<StandingOffset> offsets;  // the slowest first
};

// Peers are the ranks of the same pipeline stage in the same step, or all ranks where stages are
// unknown or alone. `steady` are the columns that may be compared; `current` and `baseline` the
// windows for RankStat. Nothing with fewer than two ranks.
Workers compare_workers(const StepTable& table, const Evidence& evidence, const StepGrid& grid,
                        const std::vector<size_t>& steady, const Window& current,
                        const Window& baseline);

// Fills LedgerRow::ranks: those whose phase is clearly longer than their peers' in the window.
void name_carriers(const StepTable& table, const StepGrid& grid, const Window& current,
                   std::vector<LedgerRow>& ledger);

}  // namespace firstwait
