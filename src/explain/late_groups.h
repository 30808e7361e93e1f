// Ranks that are late together: the eight ranks of one slow host are one fault, not eight in turn.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "explain/hypothesis.h"

namespace firstwait {

struct LateGroup {
  std::vector<int32_t> ranks;  // in order
  std::string host;  // the one host that holds all of them; empty: several, one rank or unknown
  int32_t first_step = -1, last_step = -1;
  bool throughout = false;  // from the first step that can be compared to the last
  double mean_ratio = kNaN, peak_ratio = kNaN, p_value = kNaN;  // of the rank that is latest
  double while_it_lasts_s = kNaN;  // what the step would lose without it, mean over the episode
  double per_step_s =
      kNaN;  // the same spread over the current window, or the record when it is over
  double total_s = 0;
};

// The lateness that a phase of the late ranks themselves shows.
struct LatePhase {
  Phase phase = Phase::unexplained;
  double peers_s = 0, late_s = 0;
};

// Episodes that overlap by half of the longer one belong together. The costliest first.
std::vector<LateGroup> late_groups(const View& view);
// Those that persist: few enough to be named, none when the late rank merely changes.
std::vector<LateGroup> persistent_groups(const View& view);
// The phase that makes up most of the lateness; nothing when no phases tell.
std::optional<LatePhase> late_phase(const View& view, const LateGroup& group);
// "rank 3", "ranks 3 and 7", "the 8 ranks of node02".
std::string who_is_late(const LateGroup& group);

}  // namespace firstwait
