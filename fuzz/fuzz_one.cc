// Feeds one importer (FUZZ_IMPORTER) hostile input. The first two bytes choose how the rest is
// split; the same rows must come out of any split, and the sniff must bear the input too.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "import/importer.h"

namespace firstwait {
extern const Importer FUZZ_IMPORTER;
namespace {

uint64_t rows(const Evidence& e) {
  uint64_t n = e.steps.size() + e.spans.size() + e.collectives.size() + e.ops.size() +
               e.events.size() + e.settings.size() + e.entities.size() + e.relations.size() +
               e.flight.size() + e.ranks.size();
  for (const auto& s : e.series) n += s.time.size();
  return n;
}

void read_file(std::string_view data) {
  const int fd = ::memfd_create("fuzz", 0);
  if (fd < 0) return;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  if (::write(fd, data.data(), data.size()) == static_cast<ssize_t>(data.size())) {
    Evidence out;
    const ImportOptions options;
    const auto reader = FUZZ_IMPORTER.open(ImportContext{"fuzz_rank_1", options, out, path});
    reader->finish(true);
  }
  ::close(fd);
}

uint64_t read_stream(std::string_view data, uint32_t seed, bool whole, bool& damaged) {
  Evidence out;
  const ImportOptions options;
  const auto reader = FUZZ_IMPORTER.open(ImportContext{"fuzz_rank_1", options, out, "fuzz_rank_1"});
  while (!data.empty()) {
    seed = seed * 1664525U + 1013904223U;
    const size_t n = whole ? data.size() : std::min<size_t>(data.size(), 1 + (seed >> 24U) % 61U);
    reader->feed(data.substr(0, n));
    data.remove_prefix(n);
  }
  reader->finish(true);
  // Known limit: behind damage, where a reader finds its footing again may depend on the split.
  // Then only crashes, hangs and memory are judged.
  for (const auto& entry : out.health.entries())
    if (entry.counter->severity != Severity::info) damaged = true;
  return rows(out);
}

}  // namespace
}  // namespace firstwait

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace firstwait;
  if (size < 2) return 0;
  const uint32_t seed = bytes[0] | static_cast<uint32_t>(bytes[1]) << 8U | 1U;
  const std::string_view data(reinterpret_cast<const char*>(bytes) + 2, size - 2);
  FUZZ_IMPORTER.sniff({data.substr(0, 64 << 10), "fuzz_rank_1"});
  if (FUZZ_IMPORTER.needs_file) {
    read_file(data);
    return 0;
  }
  bool damaged = false;
  const uint64_t whole = read_stream(data, seed, true, damaged),
                 split = read_stream(data, seed, false, damaged);
  if (whole != split && !damaged) {
    std::fprintf(stderr, "%llu rows at once, %llu when split\n",
                 static_cast<unsigned long long>(whole), static_cast<unsigned long long>(split));
    std::abort();
  }
  return 0;
}
