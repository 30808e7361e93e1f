#include "base/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace firstwait {
namespace {

std::string trim_zeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

// Decimals that leave three significant digits.
int decimals_for(double magnitude) {
  if (!(magnitude > 0)) return 0;
  return std::clamp(2 - static_cast<int>(std::floor(std::log10(magnitude) + 1e-9)), 0, 9);
}

struct Scale {
  double factor;
  std::string_view unit;
};

template <size_t N>
Scale largest_below(double magnitude, const std::array<Scale, N>& scales) {
  for (const auto& s : scales)
    if (magnitude >= s.factor * 0.9995) return s;
  return scales.back();
}

Scale size_scale(double magnitude) {
  static constexpr std::array<Scale, 6> kSizes = {
      {{1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};
  return largest_below(magnitude, kSizes);
}

Scale rate_scale(double magnitude) {
  static constexpr std::array<Scale, 6> kRates = {
      {{1e15, "PB/s"}, {1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}}};
  return largest_below(magnitude, kRates);
}

bool is_multiple(std::string_view unit) { return unit == "x" || unit == "×"; }

// The scale in which values up to `magnitude` of the unit are written.
Scale unit_scale(double magnitude, std::string_view unit) {
  if (unit == "ratio") return magnitude > 1.0005 ? Scale{1, "×"} : Scale{0.01, "%"};
  if (unit == "s" || unit == "seconds" || unit == "s/step") {
    const SecondsScale s = seconds_scale(magnitude);
    if (unit != "s/step") return {s.factor, s.unit};
    return {s.factor, s.unit == "s" ? "s/step" : s.unit == "ms" ? "ms/step" : "µs/step"};
  }
  if (unit == "bytes" || unit == "B") return size_scale(magnitude);
  if (unit == "bytes/s" || unit == "B/s") return rate_scale(magnitude);
  return {1, unit == "count" ? "" : unit};
}

std::string scaled_number(double value, const Scale& scale) {
  const double scaled = value / scale.factor, magnitude = std::abs(scaled);
  if (is_multiple(scale.unit)) return bare_times(scaled);
  if (scale.unit == "%") {
    if (magnitude >= 99.95 || magnitude == 0)
      return with_thousands(std::llround(std::clamp(scaled, -1e15, 1e15)));
    if (magnitude >= 0.995) return trim_zeros(fmt::format("{:.1f}", scaled));
    return fmt::format("{:.2f}", scaled);
  }
  // Seconds keep their zeros, and no more than milliseconds: "0.120 s" beside "0.576 s".
  if ((scale.unit == "s" || scale.unit == "s/step") && magnitude < 1000)
    return fmt::format("{:.{}f}", scaled, std::min(3, magnitude > 0 ? decimals_for(magnitude) : 3));
  return three_digits(scaled);
}

struct Civil {
  int year, month, day, hour, minute, second;
};

Civil civil(int64_t time) {
  int64_t seconds = time / 1'000'000'000;
  if (time % 1'000'000'000 < 0) --seconds;
  int64_t days = seconds / 86400, rest = seconds % 86400;
  if (rest < 0) {
    rest += 86400;
    --days;
  }
  // Howard Hinnant, "chrono-compatible low-level date algorithms", civil_from_days.
  days += 719468;
  const int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const int64_t doe = days - era * 146097;
  const int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  const int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  const int64_t mp = (5 * doy + 2) / 153;
  const int64_t month = mp < 10 ? mp + 3 : mp - 9;
  return {static_cast<int>(yoe + era * 400 + (month <= 2 ? 1 : 0)),
          static_cast<int>(month),
          static_cast<int>(doy - (153 * mp + 2) / 5 + 1),
          static_cast<int>(rest / 3600),
          static_cast<int>(rest / 60 % 60),
          static_cast<int>(rest % 60)};
}

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

}  // namespace

std::string with_thousands(int64_t value) {
  std::string digits = std::to_string(value);
  const size_t sign = digits.front() == '-' ? 1 : 0;
  for (size_t i = digits.size(); i > sign + 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

std::string three_digits(double value) {
  if (!std::isfinite(value)) return std::string(kAbsent);
  const double magnitude = std::abs(value);
  if (magnitude >= 1e15 || (magnitude > 0 && magnitude < 1e-6)) return fmt::format("{:.3g}", value);
  // Whole numbers up to a million are counts as often as not: all digits stay.
  if (magnitude < 1e6 && value == std::floor(value))
    return with_thousands(static_cast<int64_t>(value));
  if (magnitude >= 1000) {
    const double unit = std::pow(10, std::floor(std::log10(magnitude)) - 2);
    return with_thousands(static_cast<int64_t>(std::llround(value / unit) * std::llround(unit)));
  }
  std::string text = trim_zeros(fmt::format("{:.{}f}", value, decimals_for(magnitude)));
  if (text == "1000") return "1,000";
  return text == "-1000" ? "-1,000" : text;
}

std::string percent(double ratio) {
  if (!std::isfinite(ratio)) return std::string(kAbsent);
  return scaled_number(ratio, {0.01, "%"}) + " %";
}

std::string bare_times(double ratio) {
  if (!std::isfinite(ratio)) return std::string(kAbsent);
  std::string text = three_digits(ratio);
  if (std::abs(ratio) < 10 && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string times(double ratio) {
  return std::isfinite(ratio) ? bare_times(ratio) + "×" : std::string(kAbsent);
}

std::string seconds(double s) {
  if (!std::isfinite(s)) return std::string(kAbsent);
  const double magnitude = std::abs(s);
  if (magnitude < 599.5 || magnitude > 1e12) {
    const SecondsScale scale = seconds_scale(magnitude);
    return scaled_number(s, {scale.factor, scale.unit}).append(" ").append(scale.unit);
  }
  const int64_t minutes = std::llround(magnitude / 60);
  const std::string sign = s < 0 ? "-" : "";
  if (minutes < 60) return fmt::format("{}{} min", sign, minutes);
  if (minutes >= int64_t{48} * 60)
    return fmt::format("{}{} d {} h", sign, with_thousands(minutes / 1440), minutes / 60 % 24);
  if (minutes % 60 == 0) return fmt::format("{}{} h", sign, minutes / 60);
  return fmt::format("{}{} h {} min", sign, minutes / 60, minutes % 60);
}

std::string bytes(double n) { return quantity_text(n, "bytes"); }
std::string bytes_per_second(double n) { return quantity_text(n, "bytes/s"); }

std::string quantity_text(double value, std::string_view unit) {
  if (!std::isfinite(value)) return std::string(kAbsent);
  if (unit == "s" || unit == "seconds") return seconds(value);
  const Scale scale = unit_scale(std::abs(value), unit);
  if (is_multiple(scale.unit)) return times(value);
  std::string text = scaled_number(value, scale);
  if (!scale.unit.empty()) text.append(" ").append(scale.unit);
  return text;
}

std::string change_text(std::optional<double> before, std::optional<double> now,
                        std::string_view unit) {
  const bool has_before = before && std::isfinite(*before), has_now = now && std::isfinite(*now);
  if (!has_before && !has_now) return std::string(kAbsent);
  if (!has_before) return quantity_text(*now, unit);
  if (!has_now) return "was " + quantity_text(*before, unit);
  const Scale scale = unit_scale(std::max(std::abs(*before), std::abs(*now)), unit);
  std::string text = scaled_number(*before, scale) + " → " + scaled_number(*now, scale);
  if (!scale.unit.empty())
    text.append(is_multiple(scale.unit) ? "" : " ")
        .append(is_multiple(scale.unit) ? "×" : scale.unit);
  return text;
}

SecondsScale seconds_scale(double largest) {
  if (largest >= 0.0995 || largest == 0) return {1, "s"};
  if (largest >= 0.9995e-4) return {1e-3, "ms"};
  return {1e-6, "µs"};
}

std::string utc_date_time(int64_t ns) {
  return ns == INT64_MIN ? "" : utc_date(ns) + ", " + utc_time(ns);
}

std::string utc_time(int64_t ns) { return ns == INT64_MIN ? "" : utc_clock(ns) + " UTC"; }

std::string utc_clock(int64_t ns) {
  if (ns == INT64_MIN) return {};
  const Civil c = civil(ns);
  return fmt::format("{:02}:{:02}:{:02}", c.hour, c.minute, c.second);
}

std::string utc_date(int64_t ns) {
  if (ns == INT64_MIN) return {};
  const Civil c = civil(ns);
  return fmt::format("{} {} {}", c.day, kMonths[static_cast<size_t>(c.month - 1)], c.year);
}

}  // namespace firstwait
