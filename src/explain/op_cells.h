// Workers of a pipeline-parallel job compared by their own compute, from op-level records.
#pragma once
#include <string>
#include <vector>

#include "explain/hypothesis.h"

namespace firstwait {

// From "Understanding Stragglers in Large Model Training Using What-if Analysis".
inline constexpr Threshold kStraggling{
    "straggler-free slowdown", 1.1, "ratio",
    "arXiv 2505.05713: a job is straggling when its slowdown is at least 1.1"};
inline constexpr Threshold kMostOfIt{
    "share of the slowdown", 0.5, "ratio",
    "arXiv 2505.05713 attributes a job to its workers or last stage from M_W, M_S of 0.5 on"};
inline constexpr Threshold kReplayError{
    "replay error", 0.05, "ratio",
    "arXiv 2505.05713: jobs whose replay is off by more than 5 % are left out"};

struct WorkerCells {
  int32_t dp_rank = 0, stage = 0, rank = -1;
  std::vector<double> compute;                 // forward + backward seconds of each step
  double compute_s = kNaN;                     // their median
  double forward_s = kNaN, backward_s = kNaN;  // medians of one operation
  double forward_cov = kNaN;                   // standard deviation / mean within the worker
  double correlation = kNaN;                   // forward against backward of one microbatch
  size_t pairs = 0;                            // microbatches behind the correlation
};

struct OpCells {
  size_t dps = 0, stages = 0, steps = 0;
  std::vector<WorkerCells> workers;  // [dp rank][stage]; those without compute have no numbers
  const WorkerCells& at(size_t dp, size_t stage) const { return workers[dp * stages + stage]; }
  // A worker's compute over the median of the other dp ranks of its stage; NaN without any.
  double ratio_in_stage(size_t dp, size_t stage) const;
  // Share of steps in which it exceeds that median by `margin`.
  double persistence(size_t dp, size_t stage, double margin) const;
};

// Empty without op records.
OpCells op_cells(const Evidence& evidence);

// The replay, when there is one that may be believed.
const WhatIf* believable_replay(const View& view);
std::string worker_entity(int32_t dp_rank, int32_t stage);  // "worker/dp0-stage3"
// Sets the effect to `share` of the time above ideal, between the two ways of measuring it.
void set_replay_effect(Verdict& verdict, const WhatIf& w, double removal, double addback);

}  // namespace firstwait
