// Steps that wait for one late rank, and which: of noisy ranks one is always the slowest, so a late
// step needs a stall, a rank beyond what the ranks differ by from step to step.
#pragma once
#include <cstdint>
#include <map>
#include <optional>

#include "explain/placing.h"
#include "explain/weigh.h"

namespace firstwait {

inline constexpr Threshold kLateStep{"own time against the median of the others", 1.1, "ratio",
                                     "arXiv 2505.05713: slower by a tenth is straggling"};
inline constexpr Threshold kStall{
    "robust z of a stall among all own times", 3.5, "",
    "Iglewicz and Hoaglin 1993: modified z-scores above 3.5 are outliers"};
inline constexpr Threshold kTurns{"late steps of one rank", 0.5, "ratio",
                                  "more than half would be one persistent straggler"};
// Two ranks share the late steps evenly when they take turns: one of them is the persistent one
// only with three quarters, as far from even as half is with four ranks.
inline constexpr double kTurnsOfTwo = 0.75;
// Below, differences of own times are jitter, whatever their spread.
inline constexpr double kJitter = 0.01;

struct LateSteps {
  std::map<int32_t, size_t> by_rank;
  size_t late = 0, steps = 0;
  double lost_s = 0, time_s = 0;
  double input_s = 0;    // of lost_s, what the late ranks waited for input beyond the usual
  double spread = kNaN;  // robust standard deviation of ln(own time / the others')
  bool tailed = false;   // the noise itself has a long tail: rare large values are less of a proof
  double slowest_s = 0;  // lost to the slowest rank of every step, be it late or not
  // Where they began, when the run went on for long without; the times above are then from there
  // on.
  std::optional<Onset> since;

  double cost() const { return time_s > 0 ? lost_s / time_s : 0; }  // share of the time
  // Enough of them, and dear enough, to be told.
  bool matter() const;
  int32_t latest() const;  // the rank that is late most often; needs late > 0
  double share_of_latest() const;
  // Most of them are one rank's, of so many ranks.
  bool one_rank(size_t ranks) const;
  bool wait_for_input() const { return input_s > 0.5 * lost_s; }
};
LateSteps late_steps(const View& view);

}  // namespace firstwait
