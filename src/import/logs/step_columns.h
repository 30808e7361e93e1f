// What the columns of a table of step times mean, told from its header.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/tables.h"

namespace firstwait {

// A column of times. `unit` in ns; `assumed`: the name says none; `normalised`: relative numbers.
struct TimeColumn {
  int column = -1;
  int64_t unit = 1'000'000'000;
  bool assumed = false, normalised = false;
};

struct StepColumns {
  int step = -1, rank = -1, host = -1, epoch = -1, loss = -1, samples = -1;
  TimeColumn duration, start;  // start: a time of day or of the run
  std::vector<std::pair<Phase, TimeColumn>> phases;
  std::vector<std::pair<int32_t, TimeColumn>> wide;  // one column of durations per rank
  bool windows = false;    // steps are named by a bare "time": windows of several steps each
  bool row_index = false;  // no column counts the steps: the rows do
  bool timed() const { return duration.column >= 0 || start.column >= 0 || !wide.empty(); }
};

// Nothing when the header is not one of step times. `row` is the first line of data (may be empty):
// it tells a wide table from any other with numbered columns.
std::optional<StepColumns> read_step_columns(const std::vector<std::string>& header,
                                             const std::vector<std::string>& row);

}  // namespace firstwait
