// Lines of a fixed width: wrapping, padding, cutting, bars. Text must be clean (utf8.h); widths are
// terminal columns.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace firstwait {

// Breaks at blanks, a word longer than the width anywhere. Never returns an empty list.
std::vector<std::string> wrap(std::string_view text, size_t width);
// The same with a first line that is shorter by `first_indent` columns.
std::vector<std::string> wrap(std::string_view text, size_t width, size_t first_indent);

// Cut to the width, ending in `ellipsis` when something was cut.
std::string clip(std::string_view text, size_t width, std::string_view ellipsis = "…");
std::string pad_right(std::string_view text, size_t width);  // longer text stays as it is
std::string pad_left(std::string_view text, size_t width);

// A bar for 0..1, in eighths of a column; a positive value is never drawn as nothing. ASCII: whole
// '#'.
std::string bar(double fraction, size_t width, bool utf8);

}  // namespace firstwait
