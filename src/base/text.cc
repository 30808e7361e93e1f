#include "base/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>

namespace firstwait {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

constexpr int64_t kMaxNs = INT64_MAX;

// mantissa * 10^exponent * unit as int64, exactly; digits below 1 ns are cut. Nothing on overflow.
std::optional<int64_t> scale(const char* digits, size_t count, int exponent, int64_t unit) {
  __int128 value = 0;
  for (size_t i = 0; i < count; ++i) {
    value = value * 10 + (digits[i] - '0');
    if (value > (static_cast<__int128>(1) << 100)) return std::nullopt;
  }
  if (__builtin_mul_overflow(value, static_cast<__int128>(unit), &value)) return std::nullopt;
  for (; exponent > 0 && value != 0; --exponent) {
    value *= 10;
    if (value > (static_cast<__int128>(1) << 120)) return std::nullopt;
  }
  for (; exponent < 0 && value != 0; ++exponent) value /= 10;
  if (value > kMaxNs) return std::nullopt;
  return static_cast<int64_t>(value);
}

struct Decimal {
  bool negative = false;
  bool fraction_or_exponent = false;
  std::string digits;
  int exponent = 0;
};

std::optional<Decimal> read_decimal(std::string_view s) {
  s = trim(s);
  Decimal d;
  if (!s.empty() && (s.front() == '-' || s.front() == '+')) {
    d.negative = s.front() == '-';
    s.remove_prefix(1);
  }
  size_t i = 0;
  bool any = false;
  for (; i < s.size() && is_digit(s[i]); ++i, any = true) d.digits += s[i];
  if (i < s.size() && s[i] == '.') {
    d.fraction_or_exponent = true;
    for (++i; i < s.size() && is_digit(s[i]); ++i, any = true) {
      if (d.digits.size() >= 30) continue;
      d.digits += s[i];
      --d.exponent;
    }
  }
  if (!any) return std::nullopt;
  if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
    d.fraction_or_exponent = true;
    std::string_view rest = s.substr(i + 1);
    if (!rest.empty() && rest.front() == '+') rest.remove_prefix(1);
    int e = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), e);
    if (error != std::errc() || end != rest.data() + rest.size() || std::abs(e) > 60)
      return std::nullopt;
    d.exponent += e;
    i = s.size();
  }
  if (i != s.size()) return std::nullopt;
  const size_t zeros = std::min(d.digits.find_first_not_of('0'), d.digits.size());
  d.digits.erase(0, zeros);
  if (d.digits.size() > 34) return std::nullopt;
  return d;
}

}  // namespace

std::string_view trim(std::string_view s) {
  while (!s.empty() && is_blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_blank(s.back())) s.remove_suffix(1);
  return s;
}

std::vector<std::string_view> split(std::string_view s, char separator) {
  std::vector<std::string_view> out;
  for (;;) {
    const size_t end = s.find(separator);
    out.push_back(s.substr(0, end));
    if (end == std::string_view::npos) return out;
    s.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> split_blank(std::string_view s) {
  std::vector<std::string_view> out;
  size_t i = 0;
  while (i < s.size()) {
    while (i < s.size() && is_blank(s[i])) ++i;
    const size_t begin = i;
    while (i < s.size() && !is_blank(s[i])) ++i;
    if (i > begin) out.push_back(s.substr(begin, i - begin));
  }
  return out;
}

std::string to_lower(std::string_view s) {
  std::string out(s);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool contains(std::string_view haystack, std::string_view needle) {
  return haystack.find(needle) != std::string_view::npos;
}

bool contains_ignoring_case(std::string_view haystack, std::string_view needle) {
  return std::search(haystack.begin(), haystack.end(), needle.begin(), needle.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != haystack.end();
}

std::optional<int64_t> parse_int(std::string_view s) {
  s = trim(s);
  if (!s.empty() && s.front() == '+') s.remove_prefix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc() || end != s.data() + s.size() || s.empty()) return std::nullopt;
  return value;
}

std::optional<double> parse_double(std::string_view s) {
  s = trim(s);
  if (!s.empty() && s.front() == '+') s.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc() || end != s.data() + s.size() || s.empty()) return std::nullopt;
  return value;
}

std::optional<int64_t> parse_scaled_ns(std::string_view s, int64_t unit_ns) {
  const auto d = read_decimal(s);
  if (!d) return std::nullopt;
  const auto value = scale(d->digits.data(), d->digits.size(), d->exponent, unit_ns);
  if (!value) return std::nullopt;
  return d->negative ? -*value : *value;
}

std::optional<int64_t> parse_time_ns(std::string_view s) {
  const auto d = read_decimal(s);
  if (!d) return std::nullopt;
  if (!d->fraction_or_exponent && !d->negative) {
    const auto integer = scale(d->digits.data(), d->digits.size(), 0, 1);
    if (integer && *integer > 1'000'000'000'000'000) return integer;
  }
  return parse_scaled_ns(s, 1'000'000'000);
}

std::optional<int64_t> parse_iso8601_ns(std::string_view s) {
  s = trim(s);
  const auto number = [&](size_t at, size_t n) -> int {
    if (at + n > s.size()) return -1;
    int v = 0;
    for (size_t i = at; i < at + n; ++i) {
      if (!is_digit(s[i])) return -1;
      v = v * 10 + (s[i] - '0');
    }
    return v;
  };
  if (s.size() < 19 || s[4] != '-' || s[7] != '-' || (s[10] != 'T' && s[10] != ' ') ||
      s[13] != ':' || s[16] != ':')
    return std::nullopt;
  const int year = number(0, 4), month = number(5, 2), day = number(8, 2);
  const int hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  if (year < 1970 || year > 2200 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
      second < 0 || second > 60)
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (month < 1 || day < 1 || !date.ok()) return std::nullopt;
  int64_t ns = std::chrono::sys_days(date).time_since_epoch().count() * int64_t{86'400};
  ns = (ns + int64_t{hour} * 3600 + int64_t{minute} * 60 + second) * 1'000'000'000;
  size_t i = 19;
  if (i < s.size() && (s[i] == '.' || s[i] == ',')) {
    int64_t unit = 100'000'000;
    for (++i; i < s.size() && is_digit(s[i]); ++i, unit /= 10) ns += (s[i] - '0') * unit;
  }
  if (i == s.size() || s.substr(i) == "Z") return ns;
  if (s[i] != '+' && s[i] != '-') return std::nullopt;
  const int zone_hour = number(i + 1, 2);
  const int zone_minute = s.size() > i + 3 ? number(s[i + 3] == ':' ? i + 4 : i + 3, 2) : 0;
  if (zone_hour < 0 || zone_minute < 0) return std::nullopt;
  const int64_t zone = (zone_hour * 60 + zone_minute) * int64_t{60'000'000'000};
  return s[i] == '+' ? ns - zone : ns + zone;
}

}  // namespace firstwait
