// Untrusted text made safe to show, and how wide it is on a terminal.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace firstwait {

inline constexpr char32_t kReplacement = 0xFFFD;

// Takes one code point off the front; an ill-formed sequence yields kReplacement and costs at least
// one byte.
char32_t next_code_point(std::string_view& text);
void append_utf8(std::string& out, char32_t code_point);

// The same text with every ill-formed sequence replaced.
std::string valid_utf8(std::string_view text);

// One line that cannot steer a terminal or reorder what stands beside it: line breaks and tabs
// become blanks; other control characters, bidirectional controls and invisible joiners become
// kReplacement.
std::string clean_text(std::string_view text);

// `text`, which must be clean, in ASCII: known signs get their usual spelling, anything else a
// question mark.
std::string fold_ascii(std::string_view text);

size_t code_point_width(char32_t code_point);  // columns: 0, 1 or 2
size_t display_width(std::string_view text);

}  // namespace firstwait
