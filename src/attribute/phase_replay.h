// What-if replay when only phases are known: own work, then one barrier, then transfer.
#pragma once
#include <cstdint>
#include <vector>

#include "model/phase.h"
#include "model/tables.h"

namespace firstwait {

// rank x step, row-major by rank; kNoDuration: missing.
struct PhaseCells {
  std::vector<int32_t> ranks;
  size_t steps = 0;
  std::vector<Ns> own;       // work before the barrier: neither wait nor transfer
  std::vector<Ns> transfer;  // empty: unknown, none assumed
  std::vector<Ns> measured;  // the rank's step time; empty: the replay error is unknown
};

struct RankScore {
  int32_t rank = 0;
  double score = kNaN;  // step time with only this rank's own durations over the ideal time
};

struct PhaseReplay {
  size_t steps_used = 0;
  std::vector<int32_t> ranks_left_out;  // they tell of fewer than half of the steps
  double base_s = kNaN, nodelay_s = kNaN, ideal_s = kNaN;
  double replay_error = kNaN;            // mean measured / mean replayed - 1
  double slowdown = kNaN;                // mean replayed / ideal
  std::vector<RankScore> by_rank;        // in the order of the ranks
  std::vector<double> nodelay_per_step;  // per step used
};

// A step in which a rank is missing is left out, unless hardly any would be left: the slowest of
// the ranks that are there says nothing about the one that is not. Ideal: mean of the own work,
// median of the transfer. NaN everywhere when nothing can be replayed.
PhaseReplay replay_phases(const PhaseCells& cells);

}  // namespace firstwait
