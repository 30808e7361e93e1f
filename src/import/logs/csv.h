// Tables as text: separators, quotes, a byte order mark.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace firstwait {

// Splits one line; quoted fields lose their quotes ("" inside is one). `fields` are reused: only
// the first `return value` of them count.
size_t split_csv(std::string_view line, char separator, std::vector<std::string>& fields);

// ',', ';', '\t' or '|': the one that splits the header into most fields; 0 when none does.
char csv_separator(std::string_view header);

// Without a UTF-8 byte order mark.
std::string_view without_bom(std::string_view text);

}  // namespace firstwait
