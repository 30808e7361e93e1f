// For tests only: feeds one importer a text, whole or in pieces, and looks at what came out.
#pragma once
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "import/importer.h"

namespace firstwait {

// Feeds `text` in pieces of `piece` bytes (0: all at once).
inline Evidence import_text(const Importer& importer, std::string_view text, size_t piece = 0,
                            const std::string& path = "test-input", bool complete = true) {
  Evidence out;
  const ImportOptions options;
  const auto reader = importer.open(ImportContext{path, options, out, path});
  if (piece == 0) piece = text.size() + 1;
  for (size_t i = 0; i < text.size(); i += piece) reader->feed(text.substr(i, piece));
  reader->finish(complete);
  return out;
}

inline uint64_t health_count(const Evidence& e, std::string_view counter) {
  uint64_t n = 0;
  for (const auto& entry : e.health.entries())
    if (entry.counter->name == counter) n += entry.count;
  return n;
}

inline std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The importer that the registry would choose; empty: none.
inline std::string recognised_as(std::string_view head, std::string_view path = "input") {
  std::string best;
  int score = 0;
  for (const auto& entry : importers()) {
    const int s = entry.module->sniff({head.substr(0, 64 << 10), path});
    if (s > score) {
      score = s;
      best = entry.file;
    }
  }
  return best;
}

}  // namespace firstwait
