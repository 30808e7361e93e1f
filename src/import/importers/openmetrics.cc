// OpenMetrics and Prometheus text, with timestamps or as one scrape.
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <unordered_map>

#include "base/text.h"
#include "import/importer.h"
#include "import/json_fields.h"

namespace firstwait {
namespace {

constexpr HealthCounter kHealth[] = {
    {"bad_line", Severity::data_loss,
     "the line is no sample of the Prometheus text format; export it again"},
    {"not_a_number", Severity::info, "the sample is NaN or infinite: the exporter had no value"},
    {"dcgm_blank", Severity::info,
     "DCGM reported a blank: the GPU or driver does not support this field"},
    {"no_instance", Severity::info,
     "samples without an instance label are shown under the file's name; add the label"},
    {"no_time", Severity::data_loss,
     "samples have no timestamps and the file's time is unknown; export with timestamps"},
    {"line_too_long", Severity::data_loss, "split the line: 16 MiB is the limit"}};
enum : size_t { kBadLine, kNotANumber, kBlank, kNoInstance, kNoTimes, kTooLong };

// DCGM marks what it cannot tell by values of 2^63 - 16 and above; through a double they read as
// about 9.22e18.
constexpr double kDcgmBlank = 9.2e18;
// An integer of this size or more is milliseconds (1e11 s is the year 5138, 1e11 ms was 1973),
// above 1e15 nanoseconds.
constexpr int64_t kMillisecondsFrom = 100'000'000'000, kNanosecondsAbove = 1'000'000'000'000'000;

bool is_name(char c, bool first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
         (!first && c >= '0' && c <= '9');
}

size_t name_end(std::string_view text) {
  size_t i = 0;
  while (i < text.size() && is_name(text[i], i == 0)) ++i;
  return i;
}

// The end of "name{labels}" in a sample; 0 when it is none. Quotes and escapes are respected.
size_t series_end(std::string_view text) {
  size_t i = name_end(text);
  if (i == 0 || i == text.size() || text[i] != '{') return i;
  bool quoted = false;
  for (++i; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (text[i] == '}' && !quoted) {
      return i + 1;
    }
  }
  return 0;
}

int sniff(const Sniff& s) {
  int comments = 0, samples = 0, other = 0;
  const auto lines = split(s.head, '\n');
  for (size_t i = 0; i < lines.size() && i < 200; ++i) {
    const std::string_view line = trim(lines[i]);
    if (line.empty() || (i + 1 == lines.size() && i > 0)) continue;  // the last line may be cut
    if (line.starts_with("# TYPE ") || line.starts_with("# HELP ") || line == "# EOF" ||
        line.starts_with("# UNIT ")) {
      ++comments;
      continue;
    }
    if (line.front() == '#') continue;
    const size_t end = series_end(line);
    const auto words = end > 0 && end < line.size() ? split_blank(line.substr(end))
                                                    : std::vector<std::string_view>{};
    const bool shaped = end > 0 && !words.empty() && parse_double(words[0]) &&
                        (line[end] == ' ' || line[end] == '\t') &&
                        (words.size() <= 2 || words[2] == "#");
    shaped ? ++samples : ++other;
  }
  if (comments > 0 && samples > 0) return other * 4 <= samples ? 90 : 30;
  if (comments > 0 && other == 0) return 60;
  // Without comments: every line must be a sample, and one of them carry labels or a well-known
  // prefix.
  if (samples == 0 || other > 0) return 0;
  const bool known = s.head.find('{') != std::string_view::npos || s.head.starts_with("node_") ||
                     s.head.starts_with("DCGM_");
  return known ? 70 : 0;
}

struct Label {
  std::string_view key;
  std::string value;
};

// Nothing when the labels are damaged.
std::optional<std::vector<Label>> parse_labels(std::string_view text) {
  std::vector<Label> out;
  for (;;) {
    while (!text.empty() && (text.front() == ',' || text.front() == ' ' || text.front() == '\t'))
      text.remove_prefix(1);
    if (text.empty()) return out;
    const size_t end = name_end(text);
    if (end == 0) return std::nullopt;
    Label label{text.substr(0, end), {}};
    text = trim(text.substr(end));
    if (!text.starts_with("=")) return std::nullopt;
    text = trim(text.substr(1));
    if (!text.starts_with("\"")) return std::nullopt;
    size_t i = 1;
    for (; i < text.size() && text[i] != '"'; ++i) {
      char c = text[i];
      if (c == '\\' && i + 1 < text.size()) {
        c = text[++i];
        if (c == 'n') c = '\n';
      }
      label.value += c;
    }
    if (i >= text.size()) return std::nullopt;
    text.remove_prefix(i + 1);
    out.push_back(std::move(label));
  }
}

const std::string* find(const std::vector<Label>& labels, std::string_view key) {
  for (const Label& l : labels)
    if (l.key == key && !l.value.empty()) return &l.value;
  return nullptr;
}

bool looks_like_address(std::string_view host) {
  return host.find_first_not_of("0123456789.") == std::string_view::npos ||
         host.find(':') != std::string_view::npos;
}

// "node07" of "node07:9100" and of "[::1]:9100".
std::string_view without_port(std::string_view instance) {
  if (instance.starts_with("["))
    return instance.substr(
        1, instance.find(']') == std::string_view::npos ? 0 : instance.find(']') - 1);
  const size_t colon = instance.rfind(':');
  if (colon == std::string_view::npos || instance.find(':') != colon) return instance;
  return parse_int(instance.substr(colon + 1)) ? instance.substr(0, colon) : instance;
}

class MetricsReader final : public LineReader {
 public:
  explicit MetricsReader(ImportContext context)
      : context_(std::move(context)), scrape_time_(file_time()) {
    const auto& all = context_.out.series;
    for (uint32_t i = 0; i < all.size(); ++i) known_.emplace(identity(all[i]), i);
  }

 protected:
  void line(std::string_view text, uint64_t number) override {
    number_ = number;
    if (text.empty() || text.front() == '#') return;
    const uint32_t slot = find_slot(text);
    if (slot == kNoSlot) return;
    sample(slots_[slot], text.substr(slots_[slot].text.size()));
  }
  void end(bool) override {}
  void too_long(uint64_t number) override {
    number_ = number;
    count(kTooLong);
  }

 private:
  static constexpr uint32_t kNoSlot = UINT32_MAX;
  // One "name{labels}" as it is written in this file.
  struct Slot {
    std::string text;
    uint32_t series = 0;
    uint32_t next = 0;  // the slot that followed it in the last scrape
    bool dcgm = false;
  };

  void count(size_t counter) {
    context_.count(kHealth[counter], 1, "line " + std::to_string(number_));
  }

  // Of an archive's member: the archive's. kNoTime when there is no such file.
  Ns file_time() const {
    struct stat status {};
    std::string path = context_.path;
    while (::stat(path.c_str(), &status) != 0) {
      const size_t slash = path.rfind('/');
      if (slash == std::string::npos || slash == 0) return kNoTime;
      path.resize(slash);
    }
    return S_ISREG(status.st_mode)
               ? Ns{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec
               : kNoTime;
  }

  static bool starts_series(std::string_view text, const std::string& key) {
    return text.size() > key.size() && text.starts_with(key) &&
           (text[key.size()] == ' ' || text[key.size()] == '\t');
  }

  // Scrapes repeat their series in the same order, so the slot after the last one is tried first.
  uint32_t find_slot(std::string_view text) {
    if (last_ != kNoSlot) {
      const uint32_t guess = slots_[last_].next;
      if (starts_series(text, slots_[guess].text)) return last_ = guess;
    }
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    if (text.empty() || text.front() == '#') return kNoSlot;
    const size_t end = series_end(text);
    if (end == 0) {
      count(kBadLine);
      return kNoSlot;
    }
    const std::string_view key = text.substr(0, end);
    uint32_t slot = kNoSlot;
    if (const auto found = by_text_.find(key); found != by_text_.end()) {
      slot = found->second;
    } else {
      slot = add_slot(key);
      if (slot == kNoSlot) return kNoSlot;
    }
    if (last_ != kNoSlot) slots_[last_].next = slot;
    return last_ = slot;
  }

  uint32_t add_slot(std::string_view key) {
    const size_t brace = key.find('{');
    std::string_view name = key.substr(0, brace);
    std::vector<Label> labels;
    if (brace != std::string_view::npos) {
      auto parsed = parse_labels(key.substr(brace + 1, key.size() - brace - 2));
      if (!parsed) {
        count(kBadLine);
        return kNoSlot;
      }
      labels = std::move(*parsed);
    }
    if (name == "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS") name = "DCGM_FI_DEV_CLOCKS_EVENT_REASONS";
    if (name == "firstwait_rank_info") rank_info(labels);
    Names& names = context_.out.names;
    Series series;
    series.metric = names.intern(name);
    series.entity = names.intern(entity(name, labels));
    for (const Label& l : labels)
      if (l.key != "instance" && l.key != "Hostname")
        series.labels.emplace_back(names.intern(l.key), names.intern(l.value));
    std::sort(series.labels.begin(), series.labels.end(),
              [&](const auto& a, const auto& b) { return names[a.first] < names[b.first]; });
    const auto [at, inserted] =
        known_.emplace(identity(series), static_cast<uint32_t>(context_.out.series.size()));
    if (inserted) context_.out.series.push_back(std::move(series));
    const auto slot = static_cast<uint32_t>(slots_.size());
    slots_.push_back({std::string(key), at->second, 0, name.starts_with("DCGM_")});
    by_text_.emplace(slots_.back().text, slot);
    return slot;
  }

  static std::string identity(const Series& s) {
    std::string out(reinterpret_cast<const char*>(&s.metric), sizeof s.metric);
    out.append(reinterpret_cast<const char*>(&s.entity), sizeof s.entity);
    for (const auto& [k, v] : s.labels) {
      out.append(reinterpret_cast<const char*>(&k), sizeof k);
      out.append(reinterpret_cast<const char*>(&v), sizeof v);
    }
    return out;
  }

  std::string host(const std::vector<Label>& labels) {
    const std::string* instance = find(labels, "instance");
    const std::string* hostname = find(labels, "Hostname");
    if (instance != nullptr) {
      const std::string_view name = without_port(*instance);
      // An exporter behind an address still names its host.
      if (hostname == nullptr || !looks_like_address(name)) return std::string(name);
    }
    if (hostname != nullptr) return *hostname;
    if (!told_no_instance_) count(kNoInstance);
    told_no_instance_ = true;
    const std::string_view file =
        std::string_view(context_.path).substr(context_.path.rfind('/') + 1);
    return std::string(file.substr(0, file.find('.', 1)));
  }

  std::string entity(std::string_view name, const std::vector<Label>& labels) {
    const std::string h = host(labels);
    const std::string* device = find(labels, "device");
    if (name.starts_with("DCGM_") || name.starts_with("nvidia_")) {
      for (const std::string_view key : {"gpu", "UUID", "uuid", "device"})
        if (const std::string* gpu = find(labels, key)) return "gpu/" + h + ":" + *gpu;
    }
    for (const std::string_view prefix : {"node_network_", "node_infiniband_", "node_ethtool_",
                                          "node_qdisc_", "firstwait_rdma_", "firstwait_ethtool_"})
      if (device != nullptr && name.starts_with(prefix)) return "nic/" + h + ":" + *device;
    const std::string* mount =
        find(labels, name.starts_with("node_mountstats_") ? "export" : "mountpoint");
    if (mount != nullptr &&
        (name.starts_with("node_mountstats_") || name.starts_with("node_filesystem_")))
      return "mount/" + h + ":" + *mount;
    const std::string* rank = find(labels, "rank");
    if (rank != nullptr && parse_int(*rank) &&
        (name.starts_with("firstwait_process_") || name.starts_with("firstwait_cgroup_")))
      return "rank/" + *rank;
    return "host/" + h;
  }

  void rank_info(const std::vector<Label>& labels) {
    const std::string* rank = find(labels, "rank");
    const auto number = rank != nullptr ? parse_int(*rank) : std::nullopt;
    if (!number || *number < 0 || *number > INT32_MAX) return;
    RankInfo& info = context_.out.rank(static_cast<int32_t>(*number));
    info.host = host(labels);
    if (const std::string* gpu = find(labels, "gpu")) info.gpu = info.host + ":" + *gpu;
    if (info.source.empty()) info.source = context_.path;
    JobInfo& job = context_.out.job;
    const auto fill = [&](std::string& to, const char* key) {
      if (const std::string* value = find(labels, key); value != nullptr && to.empty()) to = *value;
    };
    fill(job.id, "train_job");
    fill(job.project, "project");
    fill(job.owner, "owner");
  }

  std::optional<Ns> time_of(std::string_view token) const {
    std::optional<Ns> ns;
    const bool integer = token.find_first_of(".eE") == std::string_view::npos;
    const auto whole = integer ? parse_int(token) : std::nullopt;
    if (whole && *whole >= kMillisecondsFrom && *whole <= kNanosecondsAbove) {
      ns = parse_scaled_ns(token, 1'000'000);
    } else {
      ns = parse_time_ns(token);
    }
    if (!ns || *ns > kMaxTime || *ns < -kMaxTime) return std::nullopt;
    return ns;
  }

  void sample(const Slot& slot, std::string_view rest) {
    // " value [timestamp] [# exemplar]"
    const auto next = [&]() -> std::string_view {
      size_t begin = 0;
      while (begin < rest.size() && (rest[begin] == ' ' || rest[begin] == '\t')) ++begin;
      size_t end = begin;
      while (end < rest.size() && rest[end] != ' ' && rest[end] != '\t' && rest[end] != '\r') ++end;
      const std::string_view word = rest.substr(begin, end - begin);
      rest.remove_prefix(end);
      return word;
    };
    const auto value = parse_double(next());
    if (!value) return count(kBadLine);
    const std::string_view stamp = next();
    Ns time = scrape_time_;
    if (!stamp.empty() && stamp.front() != '#') {
      const auto parsed = time_of(stamp);
      if (!parsed) return count(kBadLine);
      time = *parsed;
    }
    if (!std::isfinite(*value)) return count(kNotANumber);
    if (slot.dcgm && std::fabs(*value) >= kDcgmBlank) return count(kBlank);
    if (time == kNoTime) return count(kNoTimes);
    Series& series = context_.out.series[slot.series];
    series.time.push_back(time);
    series.value.push_back(*value);
  }

  ImportContext context_;
  Ns scrape_time_;
  uint64_t number_ = 0;
  bool told_no_instance_ = false;
  uint32_t last_ = kNoSlot;
  std::deque<Slot> slots_;  // addresses are stable: by_text_ keys point into it
  std::unordered_map<std::string_view, uint32_t> by_text_;
  std::unordered_map<std::string, uint32_t> known_;
};

}  // namespace

extern const Importer importer_openmetrics{
    .name = "openmetrics",
    .summary = "metrics in OpenMetrics or Prometheus text: node_exporter, dcgm-exporter, the agent",
    .formats = "metrics.om, *.prom, a saved /metrics page",
    .health = kHealth,
    .sniff = sniff,
    .open = [](ImportContext c) -> std::unique_ptr<Reader> {
      return std::make_unique<MetricsReader>(std::move(c));
    }};

}  // namespace firstwait
