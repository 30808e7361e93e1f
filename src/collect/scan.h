// Walks over the text of a /proc file without copying. Every function stops at the end of the text,
// whatever it holds.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

namespace firstwait {

class Scan {
 public:
  explicit Scan(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool done() const { return at_ == end_; }
  // The next line without its end; empty lines are lines too. False at the end of the text.
  bool line(std::string_view& out) {
    if (at_ == end_) return false;
    const auto* stop =
        static_cast<const char*>(std::memchr(at_, '\n', static_cast<size_t>(end_ - at_)));
    if (stop == nullptr) stop = end_;
    out = std::string_view(at_, static_cast<size_t>(stop - at_));
    at_ = stop == end_ ? end_ : stop + 1;
    return true;
  }
  // The next run of characters that are no blank; empty at the end.
  std::string_view word() {
    blanks();
    const char* from = at_;
    while (at_ != end_ && !is_blank(*at_)) ++at_;
    return {from, static_cast<size_t>(at_ - from)};
  }
  // Up to `stop`, which is skipped; the rest when it does not occur.
  std::string_view until(char stop) {
    const auto* found =
        static_cast<const char*>(std::memchr(at_, stop, static_cast<size_t>(end_ - at_)));
    const char* from = at_;
    at_ = found == nullptr ? end_ : found + 1;
    return {from, static_cast<size_t>((found == nullptr ? end_ : found) - from)};
  }
  // A decimal integer that fits int64, after blanks; anything else is not consumed.
  bool number(int64_t& out) {
    blanks();
    const char* p = at_;
    const bool negative = p != end_ && *p == '-';
    if (negative) ++p;
    const char* digits = p;
    uint64_t value = 0;
    for (; p != end_ && *p >= '0' && *p <= '9'; ++p) {
      const auto digit = static_cast<uint64_t>(*p - '0');
      if (value > (static_cast<uint64_t>(INT64_MAX) - digit) / 10) return false;
      value = value * 10 + digit;
    }
    if (p == digits) return false;
    at_ = p;
    out = negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
    return true;
  }
  bool skip(size_t words) {
    for (; words > 0; --words)
      if (word().empty()) return false;
    return true;
  }
  std::string_view rest() const { return {at_, static_cast<size_t>(end_ - at_)}; }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  void blanks() {
    while (at_ != end_ && is_blank(*at_)) ++at_;
  }
  const char* at_;
  const char* end_;
};

// Decimal text in units of 1/scale: "0.21" at scale 100 is 21; digits beyond the scale are cut.
bool scaled_number(std::string_view text, int64_t scale, int64_t& out);
bool hex_number(std::string_view text, int64_t& out);  // with or without 0x
// The whole text, blanks around it allowed.
bool whole_number(std::string_view text, int64_t& out);

}  // namespace firstwait
