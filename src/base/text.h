// Small text helpers that several stages need. Nothing here allocates unless it returns a string.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace firstwait {

std::string_view trim(std::string_view s);
std::vector<std::string_view> split(std::string_view s, char separator);
// Splits at runs of blanks and tabs; never yields an empty piece.
std::vector<std::string_view> split_blank(std::string_view s);
std::string to_lower(std::string_view s);
bool contains(std::string_view haystack, std::string_view needle);
bool contains_ignoring_case(std::string_view haystack, std::string_view needle);

// The whole of `s` must be the number (blanks around it are allowed); otherwise nothing.
std::optional<int64_t> parse_int(std::string_view s);
std::optional<double> parse_double(std::string_view s);

// Decimal seconds ("1764500000.123456789", also "1.5e3") to nanoseconds without going through a
// double. An integer above 1e15 is already nanoseconds (FORMATS section 1). Digits beyond the ninth
// are cut.
std::optional<int64_t> parse_time_ns(std::string_view s);
// Decimal number in a unit of `unit_ns` nanoseconds (1e3 for µs) to nanoseconds, exactly; no 1e15
// rule.
std::optional<int64_t> parse_scaled_ns(std::string_view s, int64_t unit_ns);

// ISO 8601 "2024-08-18T18:29:41.452675[Z|+hh:mm]" (or a blank for the T) to ns since the epoch; no
// zone is UTC.
std::optional<int64_t> parse_iso8601_ns(std::string_view s);

}  // namespace firstwait
