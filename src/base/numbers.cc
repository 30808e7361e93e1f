#include "base/numbers.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>

namespace firstwait {
namespace {

constexpr const char* kUnknown = "–";

std::string si(double n, const char* unit) {
  if (!std::isfinite(n)) return kUnknown;
  static constexpr std::array<const char*, 7> kPrefix = {"", "k", "M", "G", "T", "P", "E"};
  size_t i = 0;
  double v = n;
  while (std::abs(v) >= 999.5 && i + 1 < kPrefix.size()) {
    v /= 1000;
    ++i;
  }
  return fmt::format("{} {}{}", three_digits(v), kPrefix[i], unit);
}

struct Civil {
  int year, month, day, hour, minute, second;
};

Civil civil(int64_t ns) {
  using namespace std::chrono;
  const auto whole = floor<std::chrono::seconds>(sys_time<nanoseconds>(nanoseconds(ns)));
  const auto day_start = floor<days>(whole);
  const year_month_day date(day_start);
  const auto in_day = static_cast<int>((whole - day_start).count());
  return {static_cast<int>(date.year()), static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day())), in_day / 3600, in_day / 60 % 60, in_day % 60};
}

}  // namespace

std::string with_thousands(int64_t value) {
  std::string digits = std::to_string(value);
  const size_t start = digits.front() == '-' ? 1 : 0;
  for (size_t i = digits.size(); i > start + 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

std::string three_digits(double value) {
  if (!std::isfinite(value)) return kUnknown;
  const double magnitude = std::abs(value);
  if (magnitude == 0) return "0";
  if (magnitude >= 99.95) {
    if (magnitude >= 9e15) return fmt::format("{:.3g}", value);
    return with_thousands(std::llround(value));
  }
  if (magnitude >= 9.995) return fmt::format("{:.1f}", value);
  if (magnitude >= 0.9995) return fmt::format("{:.2f}", value);
  if (magnitude >= 0.0005) return fmt::format("{:.3f}", value);
  return fmt::format("{:.2g}", value);
}

std::string percent(double ratio) {
  if (!std::isfinite(ratio)) return kUnknown;
  const double p = 100 * ratio;
  if (p == 0) return "0 %";
  if (std::abs(p) < 0.005) return "0.00 %";
  if (std::abs(p) < 0.995) return fmt::format("{:.2f} %", p);
  if (std::abs(p) < 9.95) return fmt::format("{:.1f} %", p);
  return with_thousands(std::llround(p)) + " %";
}

std::string times(double ratio) {
  if (!std::isfinite(ratio)) return kUnknown;
  return (std::abs(ratio) < 9.95 ? fmt::format("{:.2f}", ratio) : three_digits(ratio)) + "×";
}

std::string seconds(double s) {
  if (!std::isfinite(s)) return kUnknown;
  const double m = std::abs(s);
  if (m == 0) return "0 s";
  if (m < 0.9995e-3) return three_digits(s * 1e6) + " µs";
  if (m < 0.0995) return three_digits(s * 1e3) + " ms";
  if (m < 99.95) return three_digits(s) + " s";
  const int64_t minutes = std::llround(s / 60);
  if (m < 600) return fmt::format("{:.0f} s", s);
  if (minutes < 60) return fmt::format("{} min", minutes);
  if (minutes < 48 * 60) return minutes % 60 == 0 ? fmt::format("{} h", minutes / 60)
                                                  : fmt::format("{} h {} min", minutes / 60, minutes % 60);
  return fmt::format("{} d {} h", minutes / 1440, minutes / 60 % 24);
}

std::string bytes(double n) { return si(n, "B"); }
std::string bytes_per_second(double n) { return si(n, "B/s"); }

std::string utc_time(int64_t ns) {
  const Civil c = civil(ns);
  return fmt::format("{:02}:{:02}:{:02} UTC", c.hour, c.minute, c.second);
}

std::string utc_date_time(int64_t ns) {
  static constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const Civil c = civil(ns);
  return fmt::format("{} {} {}, {:02}:{:02}:{:02} UTC", c.day, kMonths[static_cast<size_t>(c.month - 1)], c.year, c.hour,
                     c.minute, c.second);
}

}  // namespace firstwait
