// The training thread as a sequence of pieces: what it was doing, from its records alone.
#pragma once
#include <vector>

#include "attribute/trace/markers.h"
#include "attribute/trace/rank_trace.h"

namespace firstwait {

enum class LoaderKind : uint8_t { none, unknown, main_thread, workers };

struct Piece {
  Ns start = 0, end = 0;
  Phase phase = Phase::unexplained;  // unexplained: an operation of no phase, or no record at all
  bool covered = false;              // a record covers it
  bool sync = false;                 // waits for the device
  bool copy = false;                 // in a copy call
  bool zero_grad = false;
  LoaderKind loader = LoaderKind::none;
};

// Pieces of the whole trace in time order, disjoint, gaps between records included as uncovered
// pieces. Plain operations that belong to forward, backward or optimizer carry that phase.
std::vector<Piece> main_timeline(const RankTrace& trace, const std::vector<StepWindow>& steps);

// Phases that the training thread is in whatever the device does meanwhile.
constexpr bool is_firm(Phase p) {
  return p == Phase::input_wait || p == Phase::checkpoint || p == Phase::evaluation ||
         p == Phase::gc || p == Phase::logging || p == Phase::compile;
}

}  // namespace firstwait
