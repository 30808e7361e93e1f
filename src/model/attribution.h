// What attribute computes from the evidence: per-step ledger, windows, onset, pattern, ranks
// compared, what-if. Plain values; every stage behind it reads them, none changes them.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/phase.h"
#include "model/tables.h"

namespace firstwait {

// Best available first at the end; the report states which.
enum class EvidenceLevel : uint8_t { none, metrics, steps, phases, ops };
inline constexpr std::array<std::string_view, 5> kEvidenceLevelNames = {"none", "metrics", "steps",
                                                                        "phases", "ops"};

enum class PatternKind : uint8_t { none, step, drift, periodic, intermittent, chronic };
inline constexpr std::array<std::string_view, 6> kPatternNames = {
    "none", "step", "drift", "periodic", "intermittent", "chronic"};
enum class BaselineKind : uint8_t { none, past, peers, reference };
inline constexpr std::array<std::string_view, 4> kBaselineNames = {"none", "past", "peers",
                                                                   "reference"};

struct Interval {
  double lo = kNaN, hi = kNaN;
  bool known() const { return lo == lo && hi == hi; }
};

// Steps that may be compared with each other; a baseline never crosses a segment that is not
// `steady`.
enum class SegmentKind : uint8_t {
  steady,
  warmup,
  compile,
  evaluation,
  checkpoint,
  restart,
  first_epoch
};
inline constexpr std::array<std::string_view, 7> kSegmentNames = {
    "steady", "warmup", "compile", "evaluation", "checkpoint", "restart", "first_epoch"};

// The job's steps in order, one entry each: the critical path over the ranks.
struct JobSteps {
  std::vector<int32_t> step;
  std::vector<Ns> start;  // kNoTime: unknown
  std::vector<Ns> time;   // measured step time of the job (the slowest rank's)
  std::array<std::vector<Ns>, kPhases> ledger;  // along the critical path; sums to `time` exactly
  std::vector<int32_t> critical_rank;  // the rank whose own work the others waited for; -1 unknown
  std::vector<SegmentKind> segment;
  std::vector<uint8_t> outlier;  // 1: an isolated slow step (see Pattern)
  size_t size() const { return step.size(); }
};

// rank x step, row-major by rank: cell(r, s) = values[r * steps + s]; kNoDuration: missing.
struct RankStepMatrix {
  std::vector<int32_t> ranks;  // row -> rank
  size_t steps = 0;            // columns, parallel to JobSteps
  std::vector<Ns> step_time;   // the rank's own measured step time
  std::vector<Ns> own_time;    // the part before it waits for others: step minus collective wait
  std::vector<Ns> input_wait;
  Ns at(const std::vector<Ns>& values, size_t row, size_t column) const {
    return values.empty() ? kNoDuration : values[row * steps + column];
  }
};

struct LedgerRow {
  Phase phase = Phase::unexplained;
  double seconds = 0;            // mean seconds per step, on the critical path
  double share = 0;              // of the step
  std::optional<double> before;  // the same in the baseline window
  std::vector<int32_t> ranks;    // ranks that carry it; empty: all alike
};

// A window of steps, [first, last] as indexes into JobSteps, with its times where known.
struct Window {
  size_t first = 0, last = 0;
  Ns from = kNoTime, to = kNoTime;
  bool empty = true;
};

struct Onset {
  int32_t step = -1;
  Ns time = kNoTime;
  int32_t step_lo = -1, step_hi = -1;  // 95 % interval
  double before_s = kNaN, after_s = kNaN;
  double ratio() const { return after_s / before_s; }
};

struct Outlier {
  int32_t step = -1;
  int32_t rank = -1;              // -1: the whole job
  double seconds = 0, ratio = 0;  // ratio to the median of its neighbours
  Phase phase =
      Phase::unexplained;  // the phase that grew most; unexplained when phases are unknown
};

struct Pattern {
  PatternKind kind = PatternKind::none;
  std::optional<int32_t> period_steps;
  std::optional<double> period_s;
  double period_ratio = kNaN;     // slow steps against the others, when periodic
  int32_t period_phase = 0;       // step % period of the slow ones
  double cost_s_per_step = kNaN;  // mean excess over the median step
};

// One rank against its peers, over the current window.
struct RankStat {
  int32_t rank = 0;
  double own_s = kNaN, baseline_s = kNaN;  // median own time, now and in its own past
  double ratio_to_peers = kNaN;            // own median / median of the peers' medians
  double robust_z = kNaN;                  // NaN with fewer than five peers
  double persistence = 0;  // share of windows in which it is clearly above its peers
  double ratio_to_past = kNaN;
  std::array<double, kPhases> phase_s{};  // median seconds per step now; NaN unknown
};

// A rank that is late for a while: windows of steps in which it exceeds its peers.
struct Straggle {
  int32_t rank = -1;
  int32_t first_step = -1, last_step = -1;
  double mean_ratio = kNaN,
         peak_ratio = kNaN;        // to the median of its peers, its own past taken out
  double seconds_per_step = kNaN;  // excess over the peers, mean over the episode
  double p_value = kNaN;
};

// A constant difference between ranks that has no onset: reported with its cost, accused of
// nothing.
struct StandingOffset {
  int32_t rank = -1;
  double ratio = kNaN;             // to the median rank
  double seconds_per_step = kNaN;  // cost: what the job would gain if it were as the median
};

// Which dimension explains the slow ranks best.
struct Grouping {
  std::vector<std::string> dimensions;  // several when they cannot be told apart in this job
  std::string value;                    // "host/node07"
  std::vector<int32_t> ranks;
  double p_value = kNaN;  // corrected for the number of dimensions tried
};

// The whole job was slower for a while and recovered: over now, so it explains nothing of the
// present.
struct Episode {
  int32_t first_step = -1, last_step = -1;
  Window window;
  double ratio = kNaN;             // to the stretches around it
  double seconds_per_step = kNaN;  // excess during the episode
};

struct WhatIfShare {
  std::string name;
  double slowdown = kNaN;
};
// What-if replay (arXiv 2505.05713). Shares: time with only this one's own durations over the ideal
// time.
struct WhatIf {
  double replay_error = kNaN;  // mean measured / mean replayed - 1
  double base_s = kNaN, nodelay_s = kNaN, ideal_s = kNaN;
  double slowdown = kNaN;
  std::vector<double> by_dp_rank, by_stage;
  std::vector<WhatIfShare> by_op;
  struct Worker {
    int32_t dp_rank = 0, stage = 0;
    double score = kNaN;
    int32_t rank = -1;                // as the records number it; -1 unknown
    double compute_s = kNaN;          // median over steps of its forward + backward
    double ratio_in_stage = kNaN;     // that over the other dp ranks of its stage; NaN without any
    double persistence = 0;           // share of steps in which it exceeds them by 8 %
    double forward_variation = kNaN;  // standard deviation / mean of forward within the worker
    double correlation = kNaN;        // forward against backward of one microbatch
    int64_t microbatches = 0;         // behind the correlation
  };
  std::vector<Worker> workers;                                      // all, highest score first
  std::vector<Worker> top;                                          // those taken for worker_share
  double worker_share_removal = kNaN, worker_share_addback = kNaN;  // M_W
  double stage_share_removal = kNaN, stage_share_addback = kNaN;    // M_S, the last stage
  std::vector<double> base_per_step, nodelay_per_step, ideal_per_step;
  std::vector<int32_t> step;             // the step numbers of the per-step values
  std::string refused;                   // why there is no replay; empty when there is one
  int32_t dropped_steps = 0;             // incomplete first and last steps, left out
  std::vector<std::string> ignored_ops;  // operations that the graph does not know, left out
};

// What a profiler trace shows of one rank beyond phases. Seconds are per step, means over the
// profiled steps.
struct TraceFacts {
  int32_t rank = 0;
  int32_t steps = 0;
  bool has_gpu = false;                // the trace holds device activity
  double productive_fraction = kNaN;   // union of compute-kernel time over step time
  double gpu_busy_fraction = kNaN;     // union of all device activity over step time
  double loader_main_thread_s = kNaN;  // loading done by the training thread itself
  double loader_wait_s = kNaN;         // waiting for workers
  bool loader_in_main_thread = false;  // a single-process loader iterator was seen
  bool loader_workers_seen = false;    // a multi-process loader iterator was seen
  double kernels_per_step = kNaN, median_kernel_s = kNaN;
  double launch_gap_s =
      kNaN;              // device idle while the training thread runs host code between kernels
  double sync_s = kNaN;  // training thread blocked in device synchronisation
  double item_calls_per_step = kNaN;  // .item() and other scalar reads
  double copies_per_step = kNaN, h2d_copy_s = kNaN, h2d_bytes = kNaN;
  bool h2d_pageable = false;
  double collective_kernel_s = kNaN,
         collective_exposed_s = kNaN;  // exposed: no compute kernel runs beside it
  double gc_s = kNaN, checkpoint_s = kNaN, compile_s = kNaN;
  std::string device;  // "Tesla V100-SXM2-16GB"
};

struct Attribution {
  EvidenceLevel level = EvidenceLevel::none;
  JobSteps steps;
  RankStepMatrix ranks;
  Window baseline, current;  // baseline.empty when there is no past to compare with
  BaselineKind baseline_kind = BaselineKind::none;
  double current_s = kNaN, baseline_s = kNaN, slowdown = kNaN;
  Interval slowdown_ci;
  std::vector<LedgerRow> ledger;  // largest first, unexplained always present
  std::optional<Onset> onset;
  Pattern pattern;
  std::vector<Outlier> outliers;
  std::vector<Episode> episodes;  // in order
  std::vector<RankStat> rank_stats;
  std::vector<Straggle> straggles;
  std::vector<StandingOffset> offsets;
  std::vector<Grouping> groupings;
  std::optional<WhatIf> what_if;
  std::vector<TraceFacts> traces;
  double productive_fraction = kNaN;
  double replay_error = kNaN;  // of whatever replay was used; NaN when none
  double collective_wait_s = kNaN, collective_transfer_s = kNaN;  // mean per step
};

}  // namespace firstwait
