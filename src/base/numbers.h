// Numbers as people read them, the same in text, HTML and in the clauses of explain: three
// significant digits, SI prefixes, thousands separated, UTC times. A number that is not known (NaN)
// is "–", never 0.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace firstwait {

inline constexpr std::string_view kAbsent = "–";

std::string three_digits(
    double value);  // "0.576", "4.8", "38", "1,755"; whole numbers keep all digits
std::string with_thousands(int64_t value);  // "61,240"
std::string percent(double ratio);          // "20 %", "39.6 %"; below 1 %: "0.20 %"
std::string times(double ratio);            // "4.8×", "1.0×", "1.66×"
std::string bare_times(double ratio);       // "4.8"
std::string seconds(double s);           // "0.576 s", "38 ms", "12.5 µs", "41 min", "2 h 46 min"
std::string bytes(double n);             // "854 GB" (SI)
std::string bytes_per_second(double n);  // "498 MB/s"

// A value in the unit of an EvidenceRow or Symptom: "ratio" as per cent (above 1 as a multiple),
// "bytes/s" with SI prefixes, "s/step" as seconds per step; a unit that is not known is written
// behind the number.
std::string quantity_text(double value, std::string_view unit);
// "14 → 498 MB/s", in one unit; one side alone when the other is absent; "–" when both are.
std::string change_text(std::optional<double> before, std::optional<double> now,
                        std::string_view unit);

// The unit in which the largest number of a column of seconds is written.
struct SecondsScale {
  double factor = 1;  // seconds to the unit
  std::string_view unit = "s";
};
SecondsScale seconds_scale(double largest);

// Nanoseconds since the epoch; INT64_MIN (not recorded) is "".
std::string utc_date_time(int64_t ns);  // "18 Nov 2026, 11:16:37 UTC"
std::string utc_time(int64_t ns);       // "11:16:37 UTC"
std::string utc_clock(int64_t ns);      // "11:16:37"
std::string utc_date(int64_t ns);       // "18 Nov 2026"

}  // namespace firstwait
