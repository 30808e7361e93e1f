// Numbers in words: three significant digits, units people know, UTC. What is not measured is "–",
// never 0.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/attribution.h"

namespace firstwait {
inline namespace shown {

inline constexpr std::string_view kAbsent = "–";

std::string integer_text(int64_t value);   // "61,240"
std::string number_text(double value);     // three significant digits: "0.576", "38", "61,200"
std::string seconds_text(double seconds);  // "0.576 s", "38 ms", "12.5 µs"
std::string percent_text(double ratio);    // "20 %", "99.6 %", "0.03 %"
std::string confidence_text(double confidence);  // "94 %", at most 99
std::string ratio_text(double ratio);            // "4.8×", "1.0×"
std::string ratio_text(const Interval& interval);  // "1.9–2.1×", "at most 1.66×", "at least 2.0×"
std::string long_time_text(double seconds);        // "2 h 46 min", "41 min", "12 s"

// A value in the unit of an EvidenceRow or Symptom: "ratio" as per cent, "bytes/s" with SI
// prefixes, "s/step" as seconds per step; a unit that is not known is written behind the number.
std::string quantity_text(double value, std::string_view unit);
// "14 → 498 MB/s", in one unit; one side alone when the other is absent; "–" when both are.
std::string change_text(std::optional<double> before, std::optional<double> now,
                        std::string_view unit);

// Empty for kNoTime.
std::string utc_text(Ns time);   // "18 Nov 2026, 11:16:37 UTC"
std::string utc_clock(Ns time);  // "11:16:37"
std::string utc_date(Ns time);   // "18 Nov 2026"

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
std::string phase_words(Phase phase);
// "very likely", ... for a confidence (UX: >= 90, 70, 50 %); "undetermined" below.
std::string_view confidence_word(double confidence);
// "step 5", "steps 5 and 9", "steps 5, 9, 14 and 20 more".
std::string list_text(const std::vector<std::string>& items, size_t most);
// The same without an "and" before the last.
std::string comma_text(const std::vector<std::string>& items, size_t most);

}  // namespace shown
}  // namespace firstwait
