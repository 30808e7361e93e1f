// DFTracer (.pfw): the I/O calls of training processes and their loader workers, one JSON object a
// line within "[".
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "import/chrome/json_text.h"
#include "import/importer.h"

namespace firstwait {
namespace {

constexpr HealthCounter kBadLine{
    "bad_line", Severity::data_loss,
    "the line is not a JSON object; copy the trace again. Other lines were read"};
constexpr HealthCounter kBadTime{
    "bad_time", Severity::data_loss,
    "events without a usable time were left out; record the trace again"};
constexpr HealthCounter kTooLong{"line_too_long", Severity::data_loss,
                                 "the line was left out: 16 MiB is the limit"};
constexpr HealthCounter kTruncated{
    "truncated_trace", Severity::data_loss,
    "the trace ends early; the process was killed or the file cut. The rest was read"};
const HealthCounter kHealth[] = {kBadLine, kBadTime, kTooLong, kTruncated};

constexpr int64_t kEpochFrom =
    100'000'000'000'000'000;  // times below 1e8 s do not count from the epoch

bool is_io(std::string_view category) {
  return category == "POSIX" || category == "STDIO" || category == "MPIIO";
}

// Unlike other Chrome traces: nothing but a line break between the objects, an id first, I/O calls
// with their files.
int sniff(const Sniff& s) {
  std::string_view head = trim(s.head);
  if (!head.starts_with('[')) return 0;
  head = trim(head.substr(1));
  const std::string_view line = trim(head.substr(0, head.find('\n')));
  if (!line.starts_with("{\"id\"") || !contains(line, "\"ph\"") || !contains(line, "\"cat\""))
    return 0;
  const bool told = contains(s.head, "\"POSIX\"") || contains(s.head, "\"STDIO\"") ||
                    contains(s.head, "\"hhash\"") || contains(s.head, "dftracer") ||
                    contains(s.head, "dlio_profiler");
  return told ? 97 : contains(s.path, ".pfw") ? 90 : 0;
}

class DftracerReader final : public LineReader {
 public:
  explicit DftracerReader(ImportContext context)
      : context_(std::move(context)), first_(context_.out.spans.size()) {}

 protected:
  void line(std::string_view text, uint64_t number) override {
    text = trim(text);
    if (text.starts_with('[')) text = trim(text.substr(1));
    if (text.ends_with(']')) text = trim(text.substr(0, text.size() - 1));
    if (text.ends_with(',')) text.remove_suffix(1);
    if (text.empty()) return;
    Fields f;
    if (text.front() != '{' || text.back() != '}' || !read(text, f))
      return context_.count(kHealth[0], 1, fmt::format("line {}", number));
    if (f.ph == "M") return metadata(f);
    if (f.ph == "X") span(f, number);
  }

  void end(bool complete) override {
    // Processes that end in a signal never write the closing bracket: only a cut file is worth a
    // word.
    if (!complete) context_.count(kHealth[3]);
    auto& out = context_.out;
    if (out.spans.size() == first_) return;
    const int32_t rank = rank_of_path();
    std::fill(out.spans.rank.begin() + static_cast<ptrdiff_t>(first_), out.spans.rank.end(), rank);
    RankInfo& info = out.rank(rank);
    if (info.source.empty()) info.source = context_.path;
    if (hosts_.size() == 1 && info.host.empty()) info.host = *hosts_.begin();
    const auto begin = out.spans.start.begin() + static_cast<ptrdiff_t>(first_);
    if (*std::min_element(begin, out.spans.start.end()) < kEpochFrom) info.relative_time = true;
    if (!dataset_.empty())
      out.settings.push_back(
          {fmt::format("rank/{}", rank), "dataset.path", dataset_, context_.path, kNoTime});
    context_.note(fmt::format("rank {}, {} calls", rank, out.spans.size() - first_));
  }
  void too_long(uint64_t number) override {
    context_.count(kHealth[2], 1, fmt::format("line {}", number));
  }

 private:
  struct Fields {
    std::string_view name, cat, pid, tid, ts, dur, ph, args;
  };
  static bool read(std::string_view text, Fields& f) {
    json_fields(text, [&](std::string_view key, std::string_view value) {
      if (key == "name") f.name = value;
      if (key == "cat") f.cat = value;
      if (key == "pid") f.pid = value;
      if (key == "tid") f.tid = value;
      if (key == "ts") f.ts = value;
      if (key == "dur") f.dur = value;
      if (key == "ph") f.ph = value;
      if (key == "args" && value.starts_with('{')) f.args = value;
      return true;
    });
    return !f.ph.empty();
  }

  // Newer traces write host and file names once and refer to them by hash.
  void metadata(const Fields& f) {
    if (f.name != "HH" && f.name != "FH") return;
    const std::string_view name = json_field(f.args, "name"), value = json_field(f.args, "value");
    if (!value.empty()) hashed_[std::string(value)] = json_unescape(name);
  }
  std::string resolve(std::string_view args, std::string_view plain, std::string_view hash) const {
    if (const std::string_view name = json_field(args, plain); !name.empty())
      return json_unescape(name);
    const auto found = hashed_.find(std::string(json_field(args, hash)));
    return found == hashed_.end() ? std::string() : found->second;
  }

  void span(const Fields& f, uint64_t number) {
    bool nanoseconds = false;
    const auto start = trace_time_ns(f.ts, nanoseconds);
    const auto duration = trace_duration_ns(f.dur.empty() ? "0" : f.dur, nanoseconds);
    if (!start || !duration || *duration < 0)
      return context_.count(kHealth[1], 1, fmt::format("line {}", number));
    const bool io = is_io(f.cat);
    int64_t bytes = -1;
    if (io && (contains(f.name, "read") || contains(f.name, "write"))) {
      bytes = parse_int(json_field(f.args, "ret")).value_or(-1);
      if (bytes > 0 && contains(f.name, "read")) note_dataset(resolve(f.args, "fname", "fhash"));
    }
    if (std::string host = resolve(f.args, "hostname", "hhash"); !host.empty())
      hosts_.insert(std::move(host));
    const int64_t step = parse_int(json_field(f.args, "step")).value_or(-1);
    auto& out = context_.out;
    out.spans.append(0, step >= 0 && step <= INT32_MAX ? static_cast<int32_t>(step) : -1, *start,
                     *duration, out.names.intern(json_unescape(f.name)), Phase::unexplained,
                     io ? Lane::loader_worker : Lane::host_thread, hash32(f.pid, f.tid), bytes);
  }

  // The deepest directory that holds every data file read; programs and kernel files are no data.
  void note_dataset(const std::string& file) {
    if (!file.starts_with('/') || file == last_file_) return;
    last_file_ = file;
    for (const std::string_view other :
         {"/proc/", "/sys/", "/dev/", "/usr/", "/lib", "/etc/", "/opt/"})
      if (file.starts_with(other)) return;
    if (file.ends_with(".py") || file.ends_with(".pyc") || file.ends_with(".so")) return;
    std::string directory = file.substr(0, file.rfind('/'));
    if (!any_file_) {
      dataset_ = directory;
      any_file_ = true;
      return;
    }
    while (!dataset_.empty() && directory != dataset_ && !directory.starts_with(dataset_ + "/"))
      dataset_.resize(dataset_.rfind('/'));
  }

  // "app-3-of-8.pfw", "rank3.pfw"; a single process's trace is rank 0.
  int32_t rank_of_path() const {
    const std::string name =
        to_lower(std::string_view(context_.path).substr(context_.path.rfind('/') + 1));
    if (const size_t of = name.find("-of-"); of != std::string::npos) {
      const size_t begin = name.rfind('-', of - 1) + 1;
      const auto rank = parse_int(std::string_view(name).substr(begin, of - begin));
      if (rank && *rank >= 0 && *rank < 100'000'000) return static_cast<int32_t>(*rank);
    }
    if (size_t at = name.find("rank"); at != std::string::npos) {
      at += 4;
      while (at < name.size() && (name[at] == '-' || name[at] == '_')) ++at;
      const auto rank = parse_int(
          std::string_view(name).substr(at, name.find_first_not_of("0123456789", at) - at));
      if (rank && *rank >= 0 && *rank < 100'000'000) return static_cast<int32_t>(*rank);
    }
    return 0;
  }

  ImportContext context_;
  size_t first_;
  std::unordered_map<std::string, std::string> hashed_;
  std::set<std::string> hosts_;
  std::string dataset_, last_file_;
  bool any_file_ = false;
};

}  // namespace

extern const Importer importer_dftracer{
    .name = "dftracer",
    .summary = "DFTracer I/O traces: reads, writes and metadata calls of each process",
    .formats = "*.pfw, *.pfw.gz",
    .health = kHealth,
    .sniff = sniff,
    .open = [](ImportContext c) -> std::unique_ptr<Reader> {
      return std::make_unique<DftracerReader>(std::move(c));
    }};

}  // namespace firstwait
