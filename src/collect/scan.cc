#include "collect/scan.h"

#include "base/text.h"

namespace firstwait {

bool scaled_number(std::string_view text, int64_t scale, int64_t& out) {
  text = trim(text);
  const bool negative = text.starts_with("-");
  if (negative) text.remove_prefix(1);
  int64_t value = 0;
  bool any = false;
  size_t i = 0;
  const auto take = [&](int64_t times, int64_t digit) {
    return !__builtin_mul_overflow(value, times, &value) &&
           !__builtin_add_overflow(value, digit, &value);
  };
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i, any = true)
    if (!take(10, text[i] - '0')) return false;
  int64_t left = scale;
  if (i < text.size() && text[i] == '.') {
    for (++i; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i, any = true) {
      if (left < 10) continue;
      left /= 10;
      if (!take(10, text[i] - '0')) return false;
    }
  }
  if (!any || i != text.size() || !take(left, 0)) return false;
  out = negative ? -value : value;
  return true;
}

bool hex_number(std::string_view text, int64_t& out) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  if (text.empty() || text.size() > 16) return false;
  uint64_t value = 0;
  for (const char c : text) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return false;
    value = value << 4 | static_cast<uint64_t>(digit);
  }
  if (value > static_cast<uint64_t>(INT64_MAX)) return false;
  out = static_cast<int64_t>(value);
  return true;
}

bool whole_number(std::string_view text, int64_t& out) {
  Scan scan(text);
  return scan.number(out) && scan.word().empty();
}

}  // namespace firstwait
