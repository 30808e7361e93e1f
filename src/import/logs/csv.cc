#include "import/logs/csv.h"

#include <algorithm>

#include "base/text.h"

namespace firstwait {

size_t split_csv(std::string_view line, char separator, std::vector<std::string>& fields) {
  size_t count = 0, i = 0;
  for (;;) {
    if (fields.size() == count) fields.emplace_back();
    std::string& field = fields[count++];
    field.clear();
    while (i < line.size() && line[i] == ' ') ++i;
    if (i < line.size() && line[i] == '"') {
      for (++i; i < line.size(); ++i) {
        if (line[i] != '"') {
          field.push_back(line[i]);
        } else if (i + 1 < line.size() && line[i + 1] == '"') {
          field.push_back('"');
          ++i;
        } else {
          ++i;
          break;
        }
      }
      while (i < line.size() && line[i] != separator) ++i;
    } else {
      const size_t end = std::min(line.find(separator, i), line.size());
      field = trim(line.substr(i, end - i));
      i = end;
    }
    if (i >= line.size()) return count;
    ++i;
  }
}

char csv_separator(std::string_view header) {
  char best = 0;
  std::ptrdiff_t most = 0;
  for (const char c : {',', ';', '\t', '|'}) {
    const auto n = std::count(header.begin(), header.end(), c);
    if (n > most) {
      most = n;
      best = c;
    }
  }
  return best;
}

std::string_view without_bom(std::string_view text) {
  return text.substr(0, 3) == "\xef\xbb\xbf" ? text.substr(3) : text;
}

}  // namespace firstwait
