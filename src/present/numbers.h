// The numbers that only reports show, beside those of base/numbers.h: intervals, columns of times,
// lists.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/numbers.h"
#include "model/attribution.h"

namespace firstwait {

std::string confidence_text(double confidence);  // "94 %", at most 99
std::string times(const Interval& interval);  // "1.9–2.1×", "at most 1.66×", "at least 2.0×"

// A column of durations in one unit and with one number of decimals.
struct SecondsColumn {
  double factor = 1;  // seconds to the unit
  int decimals = 3;
  std::string_view unit = "s";             // "" when times have no unit
  std::string text(double seconds) const;  // "0.458"; "–" for NaN
  std::string change(double before,
                     double after) const;  // "+0.456", "·" when nothing shows at this precision
  std::string with_unit(double seconds) const;  // "0.458 s"
};
// `largest`: the largest number of the column, in seconds.
SecondsColumn seconds_column(double largest, bool unitless);

// "input_wait" -> "input wait".
std::string phase_label(Phase phase);
// "step 5", "steps 5 and 9", "steps 5, 9, 14 and 20 more".
std::string list_text(const std::vector<std::string>& items, size_t most);
// The same without an "and" before the last.
std::string comma_text(const std::vector<std::string>& items, size_t most);

}  // namespace firstwait
