// Actions: what helps against which cause. One constant table per family in actions/.
#pragma once
#include <span>
#include <string_view>

#include "base/registered.h"

namespace firstwait {

// How the gain of an action is found.
enum class GainModel : unsigned char {
  remove_phase,  // at most: the step without the phases of the cause (upper bound; the lower end is
                 // 1)
  replay,        // from the what-if replay or the excess over peers
  excess,        // back to the job's own baseline
  reads,  // without reads: at most what preparation and the rest of the step allow (input_bound.h)
  workers,  // with as many loader workers as are needed: at most what the CPUs allow
  cpus,     // with CPUs enough: at most what the workers allow
  none      // cannot be predicted from the evidence
};

struct ActionRow {
  std::string_view id;                      // stable: "loader.more_workers"
  std::string_view text;                    // imperative, one clause
  std::span<const std::string_view> cures;  // cause ids
  GainModel gain;
  std::string_view caution;  // may be empty
};

struct ActionTable {
  std::string_view family;  // "loader"
  std::span<const ActionRow> rows;
};

std::span<const Registered<ActionTable>> actions();

}  // namespace firstwait
