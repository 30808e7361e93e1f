#include "present/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace firstwait {
inline namespace shown {
namespace {

std::string group_thousands(std::string digits) {
  if (digits.find('.') != std::string::npos) return digits;
  const size_t sign = !digits.empty() && digits[0] == '-' ? 1 : 0;
  for (size_t i = digits.size(); i > sign + 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

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

Scale si_scale(double magnitude, std::string_view unit) {
  if (unit == "B/s") {
    static constexpr std::array<Scale, 6> kRates = {
        {{1e15, "PB/s"}, {1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}}};
    for (const auto& s : kRates)
      if (magnitude >= s.factor * 0.9995) return s;
    return kRates.back();
  }
  static constexpr std::array<Scale, 6> kSizes = {
      {{1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};
  for (const auto& s : kSizes)
    if (magnitude >= s.factor * 0.9995) return s;
  return kSizes.back();
}

Scale seconds_scale(double magnitude) {
  if (magnitude >= 0.0995 || magnitude == 0) return {1, "s"};
  if (magnitude >= 0.9995e-4) return {1e-3, "ms"};
  return {1e-6, "µs"};
}

// The scale in which values up to `magnitude` of the unit are written; factor 0: the unit has no
// prefixes.
Scale unit_scale(double magnitude, std::string_view unit) {
  if (unit == "ratio") return {0.01, "%"};
  if (unit == "s" || unit == "seconds") return seconds_scale(magnitude);
  if (unit == "s/step") {
    const Scale s = seconds_scale(magnitude);
    return {s.factor, s.unit == "s" ? "s/step" : s.unit == "ms" ? "ms/step" : "µs/step"};
  }
  if (unit == "bytes" || unit == "B") return si_scale(magnitude, "B");
  if (unit == "bytes/s" || unit == "B/s") return si_scale(magnitude, "B/s");
  return {1, unit == "count" ? "" : unit};
}

// Seconds of a tenth and more keep their zeros: "0.120 s" beside "0.576 s".
std::string scaled_number(double value, const Scale& scale) {
  const double scaled = value / scale.factor;
  if (scale.unit == "s" || scale.unit == "s/step") {
    const double magnitude = std::abs(scaled);
    if (magnitude < 10) return fmt::format("{:.3f}", scaled);
    if (magnitude < 1000) return fmt::format("{:.{}f}", scaled, decimals_for(magnitude));
  }
  return number_text(scaled);
}

struct Civil {
  int year, month, day, hour, minute, second;
};

Civil civil_from_ns(Ns time) {
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

std::string integer_text(int64_t value) { return group_thousands(std::to_string(value)); }

std::string number_text(double value) {
  if (!std::isfinite(value)) return std::string(kAbsent);
  const double magnitude = std::abs(value);
  if (magnitude >= 1e15 || (magnitude > 0 && magnitude < 1e-6)) return fmt::format("{:.3g}", value);
  // Whole numbers up to a million are counts as often as not: all digits stay.
  if (magnitude < 1e6 && value == std::floor(value))
    return integer_text(static_cast<int64_t>(value));
  if (magnitude >= 1000) {
    const double unit = std::pow(10, std::floor(std::log10(magnitude)) - 2);
    return integer_text(static_cast<int64_t>(std::llround(value / unit) * std::llround(unit)));
  }
  return group_thousands(trim_zeros(fmt::format("{:.{}f}", value, decimals_for(magnitude))));
}

std::string seconds_text(double seconds) { return quantity_text(seconds, "s"); }

std::string percent_text(double ratio) { return quantity_text(ratio, "ratio"); }

std::string confidence_text(double confidence) {
  if (!std::isfinite(confidence)) return std::string(kAbsent);
  return fmt::format("{} %", std::clamp(static_cast<int>(confidence * 100 + 1e-9), 0, 99));
}

namespace {

std::string bare_ratio(double ratio) {
  std::string text = number_text(ratio);
  if (std::abs(ratio) < 10 && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string ratio_text(double ratio) {
  return std::isfinite(ratio) ? bare_ratio(ratio) + "×" : std::string(kAbsent);
}

std::string ratio_text(const Interval& interval) {
  const bool lo = std::isfinite(interval.lo), hi = std::isfinite(interval.hi);
  if (lo && hi) {
    const std::string a = bare_ratio(interval.lo), b = bare_ratio(interval.hi);
    return a == b ? a + "×" : a + "–" + b + "×";
  }
  if (hi) return "at most " + ratio_text(interval.hi);
  if (lo) return "at least " + ratio_text(interval.lo);
  return std::string(kAbsent);
}

std::string long_time_text(double seconds) {
  if (!std::isfinite(seconds)) return std::string(kAbsent);
  if (seconds < 1) return seconds_text(seconds);
  if (seconds < 59.5) return number_text(seconds) + " s";
  if (seconds > 1e12) return number_text(seconds) + " s";
  const auto minutes = static_cast<int64_t>(std::llround(seconds / 60));
  if (minutes < 60) return fmt::format("{} min", minutes);
  if (minutes < 48 * 60)
    return minutes % 60 == 0 ? fmt::format("{} h", minutes / 60)
                             : fmt::format("{} h {} min", minutes / 60, minutes % 60);
  const int64_t hours = minutes / 60;
  return fmt::format("{} d {} h", integer_text(hours / 24), hours % 24);
}

std::string quantity_text(double value, std::string_view unit) {
  if (!std::isfinite(value)) return std::string(kAbsent);
  const Scale scale = unit_scale(std::abs(value), unit);
  if (scale.unit == "x" || scale.unit == "×") return ratio_text(value);
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
  if (scale.unit == "x" || scale.unit == "×") return bare_ratio(*before) + " → " + ratio_text(*now);
  std::string text = scaled_number(*before, scale) + " → " + scaled_number(*now, scale);
  if (!scale.unit.empty()) text.append(" ").append(scale.unit);
  return text;
}

std::string utc_text(Ns time) {
  if (time == kNoTime) return {};
  return utc_date(time) + ", " + utc_clock(time) + " UTC";
}

std::string utc_clock(Ns time) {
  if (time == kNoTime) return {};
  const Civil c = civil_from_ns(time);
  return fmt::format("{:02}:{:02}:{:02}", c.hour, c.minute, c.second);
}

std::string utc_date(Ns time) {
  if (time == kNoTime) return {};
  const Civil c = civil_from_ns(time);
  return fmt::format("{} {} {}", c.day, kMonths[static_cast<size_t>(c.month - 1)], c.year);
}

std::string SecondsColumn::text(double seconds) const {
  if (!std::isfinite(seconds)) return std::string(kAbsent);
  const double scaled = seconds / factor;
  if (std::abs(scaled) >= 1000) return number_text(std::round(scaled));
  std::string out = fmt::format("{:.{}f}", scaled, decimals);
  return out.find_first_of("123456789") == std::string::npos && out[0] == '-' ? out.substr(1) : out;
}

std::string SecondsColumn::change(double before, double after) const {
  if (!std::isfinite(before) || !std::isfinite(after)) return std::string(kAbsent);
  const std::string out = text(after - before);
  if (out.find_first_of("123456789") == std::string::npos) return "·";
  return after > before ? "+" + out : out;
}

std::string SecondsColumn::with_unit(double seconds) const {
  std::string out = text(seconds);
  if (!unit.empty() && out != kAbsent) out.append(" ").append(unit);
  return out;
}

SecondsColumn seconds_column(double largest, bool unitless) {
  SecondsColumn column;
  if (!std::isfinite(largest) || largest < 0) largest = 0;
  const Scale scale = unitless ? Scale{1, ""} : seconds_scale(largest);
  column.factor = scale.factor;
  column.unit = scale.unit;
  const double scaled = largest / scale.factor;
  column.decimals = scaled >= 100 ? 1 : scaled >= 10 ? 2 : 3;
  return column;
}

std::string phase_words(Phase phase) {
  std::string words(name(phase));
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string_view confidence_word(double confidence) {
  if (confidence >= 0.9) return "very likely";
  if (confidence >= 0.7) return "likely";
  return confidence >= 0.5 ? "possible" : "undetermined";
}

std::string comma_text(const std::vector<std::string>& items, size_t most) {
  std::string out;
  for (size_t i = 0; i < items.size() && i < most; ++i) out += (i > 0 ? ", " : "") + items[i];
  if (items.size() > most)
    out += fmt::format(" and {} more", integer_text(static_cast<int64_t>(items.size() - most)));
  return out;
}

std::string list_text(const std::vector<std::string>& items, size_t most) {
  std::string out;
  const size_t shown = items.size() <= most ? items.size() : most;
  for (size_t i = 0; i < shown; ++i) {
    if (i > 0) out += i + 1 == items.size() ? " and " : ", ";
    out += items[i];
  }
  if (shown < items.size())
    out += fmt::format("{}{} more", shown > 0 ? " and " : "",
                       integer_text(static_cast<int64_t>(items.size() - shown)));
  return out;
}

}  // namespace shown
}  // namespace firstwait
