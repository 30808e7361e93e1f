#include "present/layout.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "present/utf8.h"

namespace firstwait {
namespace {

// The longest start of `text` that fits; at least one code point, so that a caller always makes
// progress.
size_t fitting_prefix(std::string_view text, size_t width) {
  std::string_view rest = text;
  size_t used = 0, bytes = 0;
  while (!rest.empty()) {
    used += code_point_width(next_code_point(rest));
    if (used > width && bytes > 0) break;
    bytes = text.size() - rest.size();
    if (used > width) break;
  }
  return bytes;
}

}  // namespace

std::vector<std::string> wrap(std::string_view text, size_t width) { return wrap(text, width, 0); }

std::vector<std::string> wrap(std::string_view text, size_t width, size_t first_indent) {
  width = std::max<size_t>(width, 2);  // a wide character must fit
  std::vector<std::string> lines(1);
  size_t used = std::min(first_indent, width);
  bool fresh = true;
  const auto new_line = [&] {
    lines.emplace_back();
    used = 0;
    fresh = true;
  };
  while (!text.empty()) {
    const size_t start = text.find_first_not_of(' ');
    if (start == std::string_view::npos) break;
    text.remove_prefix(start);
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    const size_t needs = display_width(word) + (fresh ? 0 : 1);
    if (used + needs > width && (!fresh || used > 0)) new_line();
    while (display_width(word) > width) {
      const size_t part = fitting_prefix(word, width);
      lines.back() += word.substr(0, part);
      word.remove_prefix(part);
      new_line();
    }
    if (word.empty()) continue;
    if (!fresh) {
      lines.back() += ' ';
      ++used;
    }
    lines.back() += word;
    used += display_width(word);
    fresh = false;
  }
  if (lines.size() > 1 && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string clip(std::string_view text, size_t width, std::string_view ellipsis) {
  if (display_width(text) <= width) return std::string(text);
  const size_t mark = display_width(ellipsis);
  if (width <= mark) return std::string(ellipsis.substr(0, mark == 1 ? ellipsis.size() : width));
  std::string_view rest = text;
  size_t used = 0, bytes = 0;
  while (!rest.empty()) {
    used += code_point_width(next_code_point(rest));
    if (used > width - mark) break;
    bytes = text.size() - rest.size();
  }
  return std::string(text.substr(0, bytes)).append(ellipsis);
}

std::string pad_right(std::string_view text, size_t width) {
  const size_t has = display_width(text);
  return std::string(text) + std::string(has < width ? width - has : 0, ' ');
}

std::string pad_left(std::string_view text, size_t width) {
  const size_t has = display_width(text);
  return std::string(has < width ? width - has : 0, ' ') + std::string(text);
}

std::string bar(double fraction, size_t width, bool utf8) {
  if (!(fraction > 0)) return {};
  fraction = std::min(fraction, 1.0);
  if (!utf8) {
    const auto whole = static_cast<size_t>(std::lround(fraction * static_cast<double>(width)));
    return std::string(std::max<size_t>(whole, 1), '#');
  }
  static constexpr std::array<std::string_view, 8> kEighths = {"",  "▏", "▎", "▍",
                                                               "▌", "▋", "▊", "▉"};
  const auto eighths = std::max<size_t>(
      1, static_cast<size_t>(std::lround(fraction * static_cast<double>(width) * 8)));
  std::string out;
  for (size_t i = 0; i < eighths / 8; ++i) out += "█";
  return out.append(kEighths[eighths % 8]);
}

}  // namespace firstwait
