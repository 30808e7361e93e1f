#include "collect/mount_of.h"

#include "base/text.h"
#include "collect/scan.h"

namespace firstwait {
namespace {

bool holds(std::string_view point, std::string_view path) {
  if (point == "/") return path.starts_with("/");
  return path.starts_with(point) && (path.size() == point.size() || path[point.size()] == '/');
}

// Blanks in names are written as "\\040".
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("\\040")) {
      out += ' ';
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

std::optional<Mount> mount_of(std::string_view mountinfo, std::string_view path) {
  std::optional<Mount> best;
  Scan lines(mountinfo);
  std::string_view line;
  while (lines.line(line)) {
    const size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    Scan head(line), tail(line.substr(dash));
    if (!head.skip(4) || !tail.skip(1)) continue;
    const std::string point = unescaped(head.word());
    if (!holds(point, path) || (best && point.size() < best->point.size())) continue;
    const std::string_view type = tail.word();
    best = Mount{point, std::string(type), unescaped(tail.word())};
  }
  return best;
}

}  // namespace firstwait
