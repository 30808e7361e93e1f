// Feeds one importer (FUZZ_IMPORTER) hostile input. The first two bytes choose how the rest is
// split; the same rows must come out of any split, and the sniff must bear the input too.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "import/importer.h"

namespace firstwait {
extern const Importer FUZZ_IMPORTER;
namespace {

// Everything that was read, folded: equal for equal rows in the same order.
class Digest {
 public:
  explicit Digest(const Evidence& e) {
    const StepTable& steps = e.steps;
    const SpanTable& spans = e.spans;
    const CollectiveTable& collectives = e.collectives;
    columns(steps.rank, steps.step, steps.start, steps.duration, steps.epoch, steps.loss);
    for (const auto& phase : steps.phases) columns(phase);
    columns(spans.rank, spans.step, spans.start, spans.duration, spans.op, spans.lane, spans.thread,
            spans.bytes);
    columns(collectives.rank, collectives.step, collectives.group, collectives.op, collectives.seq,
            collectives.start, collectives.duration, collectives.bytes);
    columns(e.ops.rank, e.ops.step, e.ops.optype, e.ops.start, e.ops.duration);
    columns(e.flight.rank, e.flight.group, e.flight.seq, e.flight.op, e.flight.created,
            e.flight_ranks);
    for (const auto& s : e.series) {
      add(e.names[s.metric]);
      add(e.names[s.entity]);
      columns(s.time, s.value);
    }
    for (const auto& v : e.events) {
      add(v.kind + '\n' + v.entity);
      columns(std::vector<Ns>{v.start, v.end});
    }
    for (const auto& s : e.settings) add(s.entity + '\n' + s.key + '\n' + s.value);
    for (const auto& v : e.entities) add(v.id);
    for (const auto& r : e.relations) add(r.from + '\n' + r.kind + '\n' + r.to);
    for (const auto& [rank, info] : e.ranks)
      add(fmt::format("{} {} {}", rank, info.host, info.gpu));
    for (const auto& h : e.health.entries()) add(fmt::format("{} {}", h.counter->name, h.count));
  }
  bool operator==(const Digest&) const = default;

 private:
  void add(std::string_view bytes) {
    for (const char c : bytes) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211U;
    hash_ = (hash_ ^ bytes.size()) * 1099511628211U;
  }
  template <typename... T>
  void columns(const std::vector<T>&... all) {
    (add({reinterpret_cast<const char*>(all.data()), all.size() * sizeof(T)}), ...);
  }
  uint64_t hash_ = 14695981039346656037U;
};

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

Digest read_stream(std::string_view data, uint32_t seed, bool whole) {
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
  return Digest(out);
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
  if (read_stream(data, seed, true) != read_stream(data, seed, false)) {
    std::fputs("the rows depend on where the input is split\n", stderr);
    std::abort();
  }
  return 0;
}
