// Integer arithmetic on times that stops at the ends of the range instead of overflowing (hostile
// input).
#pragma once
#include <cstdint>

namespace firstwait {

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
