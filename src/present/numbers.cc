#include "present/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace firstwait {

std::string confidence_text(double confidence) {
  if (!std::isfinite(confidence)) return std::string(kAbsent);
  return fmt::format("{} %", std::clamp(static_cast<int>(confidence * 100 + 1e-9), 0, 99));
}

std::string times(const Interval& interval) {
  const bool lo = std::isfinite(interval.lo), hi = std::isfinite(interval.hi);
  if (lo && hi) {
    const std::string a = bare_times(interval.lo), b = bare_times(interval.hi);
    return a == b ? a + "×" : a + "–" + b + "×";
  }
  if (hi) return "at most " + times(interval.hi);
  if (lo) return "at least " + times(interval.lo);
  return std::string(kAbsent);
}

std::string SecondsColumn::text(double seconds) const {
  if (!std::isfinite(seconds)) return std::string(kAbsent);
  const double scaled = seconds / factor;
  if (std::abs(scaled) >= 1000) return three_digits(std::round(scaled));
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
  const SecondsScale scale = unitless ? SecondsScale{1, ""} : seconds_scale(largest);
  column.factor = scale.factor;
  column.unit = scale.unit;
  const double scaled = largest / scale.factor;
  column.decimals = scaled >= 100 ? 1 : scaled >= 10 ? 2 : 3;
  return column;
}

std::string phase_label(Phase phase) {
  std::string words(name(phase));
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string comma_text(const std::vector<std::string>& items, size_t most) {
  std::string out;
  for (size_t i = 0; i < items.size() && i < most; ++i) out += (i > 0 ? ", " : "") + items[i];
  if (items.size() > most)
    out += fmt::format(" and {} more", with_thousands(static_cast<int64_t>(items.size() - most)));
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
                       with_thousands(static_cast<int64_t>(items.size() - shown)));
  return out;
}

}  // namespace firstwait
