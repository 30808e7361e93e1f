#include "present/utf8.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace firstwait {
namespace {

struct Range {
  char32_t first, last;
};

bool in(const Range* begin, const Range* end, char32_t c) {
  const auto* after =
      std::upper_bound(begin, end, c, [](char32_t x, const Range& r) { return x < r.first; });
  return after != begin && c <= std::prev(after)->last;
}

// The blocks of combining marks and of East Asian wide and emoji characters (Unicode 15, UAX 11),
// by whole blocks: a width taken too large leaves a gap, never an overlong line.
constexpr std::array<Range, 11> kZeroWidth = {{{0x0300, 0x036F},
                                               {0x0483, 0x0489},
                                               {0x0591, 0x05BD},
                                               {0x0610, 0x061A},
                                               {0x064B, 0x065F},
                                               {0x0E34, 0x0E3A},
                                               {0x1AB0, 0x1AFF},
                                               {0x1DC0, 0x1DFF},
                                               {0x20D0, 0x20FF},
                                               {0xFE00, 0xFE0F},
                                               {0xFE20, 0xFE2F}}};
constexpr std::array<Range, 14> kWide = {{{0x1100, 0x115F},
                                          {0x231A, 0x231B},
                                          {0x23E9, 0x23F3},
                                          {0x2E80, 0x303E},
                                          {0x3041, 0xA4CF},
                                          {0xA960, 0xA97F},
                                          {0xAC00, 0xD7A3},
                                          {0xF900, 0xFAFF},
                                          {0xFE10, 0xFE19},
                                          {0xFE30, 0xFE6F},
                                          {0xFF00, 0xFF60},
                                          {0xFFE0, 0xFFE6},
                                          {0x1F300, 0x1FAFF},
                                          {0x20000, 0x3FFFD}}};
constexpr std::array<Range, 6> kInvisible = {{{0x200B, 0x200F},
                                              {0x2028, 0x202E},
                                              {0x2060, 0x206F},
                                              {0xFEFF, 0xFEFF},
                                              {0xFFF9, 0xFFFB},
                                              {0xE0000, 0xE0FFF}}};

struct Spelling {
  char32_t sign;
  std::string_view ascii;
};
constexpr std::array<Spelling, 30> kSpellings = {
    {{0xA0, " "},     {0xB0, "deg"},  {0xB1, "+/-"},  {0xB5, "u"},    {0xB7, "-"},
     {0xD7, "x"},     {0x3BC, "u"},   {0x2009, " "},  {0x2011, "-"},  {0x2013, "-"},
     {0x2014, "-"},   {0x2018, "'"},  {0x2019, "'"},  {0x201C, "\""}, {0x201D, "\""},
     {0x2026, "..."}, {0x202F, " "},  {0x2190, "<-"}, {0x2192, "->"}, {0x2212, "-"},
     {0x2248, "~"},   {0x2264, "<="}, {0x2265, ">="}, {0x2500, "-"},  {0x25C9, "(o)"},
     {0x25CB, "o"},   {0x2588, "#"},  {0x2713, "v"},  {0x2717, "x"},  {0x0394, "d"}}};

}  // namespace

char32_t next_code_point(std::string_view& text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) {
    text.remove_prefix(1);
    return lead;
  }
  const size_t length = lead >= 0xF0 && lead <= 0xF4   ? 4
                        : lead >= 0xE0 && lead <= 0xEF ? 3
                        : lead >= 0xC2 && lead <= 0xDF ? 2
                                                       : 0;
  if (length == 0 || text.size() < length) {
    text.remove_prefix(1);
    return kReplacement;
  }
  char32_t c = lead & (0xFFU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) {
      text.remove_prefix(1);
      return kReplacement;
    }
    c = (c << 6U) | (byte(i) & 0x3FU);
  }
  const char32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  if (c < least || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) {
    text.remove_prefix(1);
    return kReplacement;
  }
  text.remove_prefix(length);
  return c;
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t bits) { out.push_back(static_cast<char>(bits)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6U));
    put(0x80 | (c & 0x3FU));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12U));
    put(0x80 | ((c >> 6U) & 0x3FU));
    put(0x80 | (c & 0x3FU));
  } else {
    put(0xF0 | (c >> 18U));
    put(0x80 | ((c >> 12U) & 0x3FU));
    put(0x80 | ((c >> 6U) & 0x3FU));
    put(0x80 | (c & 0x3FU));
  }
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) append_utf8(out, next_code_point(text));
  return out;
}

std::string clean_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const char32_t c = next_code_point(text);
    if (c == '\n' || c == '\r' || c == '\t') {
      out.push_back(' ');
    } else if (c < 0x20 || (c >= 0x7F && c < 0xA0) || in(kInvisible.begin(), kInvisible.end(), c)) {
      append_utf8(out, kReplacement);
    } else {
      append_utf8(out, c);
    }
  }
  return out;
}

std::string fold_ascii(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const char32_t c = next_code_point(text);
    if (c < 0x80) {
      out.push_back(static_cast<char>(c));
      continue;
    }
    const auto* found = std::find_if(kSpellings.begin(), kSpellings.end(),
                                     [c](const Spelling& s) { return s.sign == c; });
    if (found != kSpellings.end()) {
      out += found->ascii;
    } else {
      out.push_back('?');
    }
  }
  return out;
}

size_t code_point_width(char32_t c) {
  if (c < 0x300) return 1;
  if (in(kZeroWidth.begin(), kZeroWidth.end(), c)) return 0;
  return in(kWide.begin(), kWide.end(), c) ? 2 : 1;
}

size_t display_width(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) width += code_point_width(next_code_point(text));
  return width;
}

}  // namespace firstwait
