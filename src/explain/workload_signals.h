// Work beside the training step itself: how often it comes, what it costs over the whole run, what
// it coincides with.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "explain/weigh.h"

namespace firstwait {

// An effect worth an accusation: "Understanding Stragglers ..." (arXiv 2505.05713) calls jobs
// straggling from 1.1 times their ideal time on.
inline constexpr Threshold kSlowRatio{
    "slow against normal", 1.1, "ratio",
    "arXiv 2505.05713: a job straggles from 1.1 times its ideal time on"};

// A phase over all steps of the run (the ledger leaves out steps that are not steady).
struct PhaseRun {
  size_t steps = 0;          // looked at
  std::vector<size_t> when;  // indexes of steps in which the phase takes part of the time
  // Where it began, when the run went on for long without it, or where all of it began to take
  // longer; its cost is counted from there on.
  std::optional<Onset> since;
  std::vector<int32_t> ranks;  // that do it, when others do not
  double total_s = 0, per_step_s = 0;
  double share = 0;  // of the run's time
  double share_before = kNaN,
         share_now = kNaN;  // in the baseline and the current window, all steps of them
};
PhaseRun phase_run(const View& view, Phase phase);
// The first of several occurrences, when far more steps went by before it than between any two.
std::optional<size_t> began_at(const std::vector<size_t>& when);
// The step in this column as the onset of what occurs every `every` steps.
Onset onset_at(const JobSteps& steps, size_t column, size_t every);
// It takes a relevant part of the run, and took it before the onset too.
inline bool throughout(const PhaseRun& run) {
  return run.share >= kRelevantShare.value && run.share_before >= kRelevantShare.value &&
         run.share_now < run.share_before + kRelevantShare.value;
}

// Steps that are slow by themselves: isolated outliers, and the slow ones of a periodic pattern.
std::vector<size_t> slow_steps(const View& view);

// How steps in which such an event happens compare with the others.
struct EventMatch {
  size_t events = 0;          // with a time or a step inside the run
  std::vector<size_t> steps;  // indexes of the steps they fall into
  size_t others = 0;
  double ratio = kNaN;                // median time with / without; NaN: nothing to compare
  double cost_s_per_step = kNaN;      // what they add, spread over all steps
  size_t slow = 0, slow_matched = 0;  // slow steps, and those of them in which an event happens
};
EventMatch match_events(const View& view, std::string_view kind);

// The share of slow steps beyond the job's normal time, e.g. of the whole run; 0 without steps.
double run_seconds(const View& view);

}  // namespace firstwait
