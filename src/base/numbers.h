// Numbers as people read them, the same in text, HTML and in the clauses of explain: three significant digits, SI
// prefixes, thousands separated, UTC times. A number that is not known (NaN) is "–", never 0.
#pragma once
#include <cstdint>
#include <string>

namespace firstwait {

std::string three_digits(double value);          // "0.576", "4.8", "38", "1,755"; trailing zeros kept to the digits
std::string with_thousands(int64_t value);       // "61,240"
std::string percent(double ratio);               // 0.204 -> "20 %"; below 1 %: "0.20 %"
std::string times(double ratio);                 // 4.8 -> "4.8×"
std::string seconds(double s);                   // "0.576 s", "38 ms", "41 µs", "41 min", "2 h 46 min"
std::string bytes(double n);                     // "854 GB" (SI)
std::string bytes_per_second(double n);          // "498 MB/s"
std::string utc_time(int64_t ns);                // "11:16:37 UTC"
std::string utc_date_time(int64_t ns);           // "18 Nov 2026, 11:16:37 UTC"

}  // namespace firstwait
