// Integer arithmetic on times that stops at the ends of the range instead of overflowing (hostile
// input).
#pragma once
#include <cstdint>

namespace firstwait {

// Times within these bounds (the latest is in the year 2189), with durations up to kLongestTime:
// their sums and differences fit.
inline constexpr int64_t kEarliestTime = -(INT64_MAX / 4), kLatestTime = INT64_MAX / 4 * 3,
                         kLongestTime = INT64_MAX / 4;

constexpr int64_t sat_add(int64_t a, int64_t b) {
  int64_t out = 0;
  if (!__builtin_add_overflow(a, b, &out)) return out;
  return b > 0 ? INT64_MAX : INT64_MIN;
}
constexpr int64_t sat_sub(int64_t a, int64_t b) {
  int64_t out = 0;
  if (!__builtin_sub_overflow(a, b, &out)) return out;
  return b < 0 ? INT64_MAX : INT64_MIN;
}

}  // namespace firstwait
