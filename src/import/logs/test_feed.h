// For tests only: text through one importer, in chunks of any size, and all that came out as one
// string.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "import/import_testing.h"
#include "import/importer.h"

namespace firstwait {

inline void feed(const Importer& importer, std::string_view text, Evidence& out,
                 size_t chunk = SIZE_MAX, const ImportOptions& options = {},
                 const std::string& path = "x.log", bool complete = true) {
  const auto reader = importer.open(ImportContext{path, options, out, path});
  for (size_t at = 0; at < text.size(); at += std::min(chunk, text.size() - at))
    reader->feed(text.substr(at, chunk));
  reader->finish(complete);
}

inline std::string digest(const Evidence& e) {
  std::string out;
  const auto& t = e.steps;
  for (size_t i = 0; i < t.size(); ++i) {
    out += fmt::format("step {} {} {} {} {} {} {} {}", e.names[t.job[i]], t.rank[i], t.step[i],
                       t.start[i], t.duration[i], static_cast<int>(t.kind[i]), t.epoch[i],
                       StepTable::number(t.loss, i));
    for (size_t p = 0; p < kPhases; ++p)
      out += fmt::format(" {}", t.phase(i, static_cast<Phase>(p)));
    out += '\n';
  }
  for (const auto& v : e.events) {
    out += fmt::format("event {} {} {} {}", v.kind, v.entity, v.start, v.end);
    for (const auto& [k, a] : v.attributes) out += fmt::format(" {}={}", k, a);
    out += '\n';
  }
  for (const auto& s : e.settings)
    out += fmt::format("setting {} {}={}\n", s.entity, s.key, s.value);
  for (const auto& s : e.series)
    for (size_t i = 0; i < s.time.size(); ++i)
      out += fmt::format("sample {} {} {} {}\n", e.names[s.metric], e.names[s.entity], s.time[i],
                         s.value[i]);
  for (const auto& [r, info] : e.ranks)
    out += fmt::format("rank {} {} {}\n", r, info.host, info.gpu);
  for (const auto& h : e.health.entries())
    out += fmt::format("health {} {} {}\n", h.counter->name, h.count, h.first_place);
  return out;
}

inline std::string_view setting(const Evidence& e, std::string_view entity, std::string_view key) {
  for (const auto& s : e.settings)
    if (s.entity == entity && s.key == key) return s.value;
  return {};
}

// Every prefix of `text`, every splitting and some garbage: no crash, and the rows do not depend on
// the chunks.
inline bool same_for_all_chunks(const Importer& importer, std::string_view text,
                                const std::string& path = "x.log") {
  Evidence whole;
  feed(importer, text, whole, SIZE_MAX, {}, path);
  const std::string expected = digest(whole);
  for (const size_t chunk : {1U, 2U, 3U, 7U, 64U, 1000U}) {
    Evidence pieces;
    feed(importer, text, pieces, chunk, {}, path);
    if (digest(pieces) != expected) return false;
  }
  return true;
}

inline void feed_damaged(const Importer& importer, std::string_view text,
                         const std::string& path = "x.log") {
  for (size_t cut = 0; cut < text.size(); cut += std::max<size_t>(1, text.size() / 97)) {
    Evidence out;
    feed(importer, text.substr(0, cut), out, 17, {}, path, cut % 2 == 0);
  }
  uint32_t seed = 1;
  for (int i = 0; i < 50; ++i) {
    std::string damaged(text);
    for (int k = 0; k < 20 && !damaged.empty(); ++k) {
      seed = seed * 1664525 + 1013904223;
      damaged[(seed >> 8) % damaged.size()] = static_cast<char>(seed >> 24);
    }
    Evidence out;
    feed(importer, damaged, out, SIZE_MAX, {}, path);
  }
}

}  // namespace firstwait
