// Kernel logs: dmesg (seconds since boot or -T), journalctl (short, ISO, JSON), syslog. Faults
// become events.
#include <sys/stat.h>

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "import/importer.h"
#include "import/json_fields.h"
#include "model/kernel_fault.h"

namespace firstwait {
namespace {

constexpr HealthCounter kHealth[] = {
    {"no_time", Severity::error,
     "the line's time could not be read; record with `dmesg -T` or `journalctl -o short-iso`"},
    {"seconds_since_boot", Severity::info,
     "times count from boot; record with `dmesg -T` to place them beside the job"},
    {"no_year", Severity::info, "the log names no year; the year of the file was used"},
    {"line_too_long", Severity::data_loss, "split the line: 16 MiB is the limit"}};
enum : size_t { kNoTimeFound, kSinceBoot, kNoYear, kTooLong };

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
std::optional<int> month_of(std::string_view text) {
  for (size_t i = 0; i < kMonths.size(); ++i)
    if (kMonths[i] == text) return static_cast<int>(i + 1);
  return std::nullopt;
}

std::optional<Ns> calendar(std::string_view year, int month, std::string_view day,
                           std::string_view clock) {
  const auto d = parse_int(day);
  if (!d || *d < 1 || *d > 31 || year.size() != 4) return std::nullopt;
  const std::string iso = std::string(year) + "-" + (month < 10 ? "0" : "") +
                          std::to_string(month) + "-" + (*d < 10 ? "0" : "") + std::to_string(*d) +
                          "T" + std::string(clock);
  return parse_iso8601_ns(iso);
}

// One line taken apart.
struct Entry {
  Ns time = kNoTime;
  bool since_boot = false, no_year = false;
  std::string host;
  std::string_view message;
};

// "[Sun Feb 23 16:24:18 2025] text" and "[   12.345678] text".
bool read_dmesg(std::string_view line, Entry& e) {
  if (line.starts_with("<"))
    line.remove_prefix(std::min(line.find('>') + 1, line.size()));  // raw priority
  if (!line.starts_with("[")) return false;
  const size_t close = line.find(']');
  if (close == std::string_view::npos) return false;
  const std::string_view inside = line.substr(1, close - 1);
  const auto words = split_blank(inside);
  if (words.size() == 1) {
    const auto ns = parse_scaled_ns(words[0], 1'000'000'000);
    if (!ns || words[0].find('.') == std::string_view::npos) return false;
    e.time = *ns;
    e.since_boot = true;
  } else if (words.size() == 5) {
    const auto month = month_of(words[1]);
    const auto ns = month ? calendar(words[4], *month, words[2], words[3]) : std::nullopt;
    if (!ns) return false;
    e.time = *ns;
  } else {
    return false;
  }
  e.message = trim(line.substr(close + 1));
  return true;
}

// "Feb 23 16:24:18 node07 kernel: text" (short), "2025-02-23T16:24:18.5+0000 node07 kernel: text"
// (ISO).
bool read_syslog(std::string_view line, std::string_view year, Entry& e) {
  auto words = split_blank(line.substr(0, 160));
  if (words.size() < 3) return false;
  size_t host = 0;
  if (const auto ns = parse_iso8601_ns(words[0])) {
    e.time = *ns;
    host = 1;
  } else if (const auto month = month_of(words[0]); month && words.size() > 4) {
    const auto at = calendar(year, *month, words[1], words[2]);
    if (!at) return false;
    e.time = *at;
    e.no_year = true;
    host = 3;
  } else {
    return false;
  }
  e.host = words[host];
  const size_t tag = line.find(": ", static_cast<size_t>(words[host].data() - line.data()));
  if (tag == std::string_view::npos) return false;
  e.message = trim(line.substr(tag + 2));
  Entry inner;
  // The kernel's own time may stand in front of the text.
  if (read_dmesg(e.message, inner)) e.message = inner.message;
  return true;
}

int sniff(const Sniff& s) {
  const auto lines = split(s.head, '\n');
  int kernel = 0, seen = 0;
  for (size_t i = 0; i < lines.size() && i < 100; ++i) {
    const std::string_view line = trim(lines[i]);
    if (line.empty() || (i + 1 == lines.size() && i > 0)) continue;
    ++seen;
    Entry e;
    const bool syslog =
        read_syslog(line, "2000", e) && (contains(line, " kernel:") || contains(line, "kernel["));
    if (read_dmesg(line, e) || syslog) ++kernel;
    if (line.front() == '{' && contains(line, "\"__REALTIME_TIMESTAMP\"")) ++kernel;
  }
  return kernel > 0 && kernel * 2 >= seen ? 85 : 0;
}

class KernelLogReader final : public LineReader {
 public:
  explicit KernelLogReader(ImportContext context)
      : context_(std::move(context)), year_(file_year()) {}

 protected:
  void line(std::string_view text, uint64_t number) override {
    Entry e;
    std::string holder;
    if (text.starts_with("{")) {
      if (!read_json(text, e, holder)) return;
    } else if (!read_dmesg(text, e) && !read_syslog(text, year_, e)) {
      // A line that says something but not when; others are continuations.
      e.message = text;
    }
    auto f = kernel_fault(e.message);
    if (!f) return;
    const std::string place = "line " + std::to_string(number);
    if (e.time == kNoTime) return context_.count(kHealth[kNoTimeFound], 1, place);
    if (e.since_boot) context_.count(kHealth[kSinceBoot], 1, place);
    if (e.no_year) context_.count(kHealth[kNoYear], 1, place);
    add(e, std::move(*f));
  }
  void end(bool) override {}
  void too_long(uint64_t number) override {
    context_.count(kHealth[kTooLong], 1, "line " + std::to_string(number));
  }

 private:
  // Of the file's last change; the present when that is unknown.
  std::string file_year() const {
    struct stat status {};
    auto at = std::chrono::system_clock::now();
    if (::stat(context_.file.c_str(), &status) == 0)
      at = std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec);
    const auto days = std::chrono::floor<std::chrono::days>(at);
    return std::to_string(static_cast<int>(std::chrono::year_month_day(days).year()));
  }

  // journalctl -o json: the time in microseconds since the epoch.
  bool read_json(std::string_view text, Entry& e, std::string& holder) {
    auto object = json_.object(text);
    if (!object) return false;
    for (auto field : *object) {
      std::string_view key;
      JsonValue value;
      if (field.unescaped_key().get(key) || field.value().get(value)) return false;
      if (key == "MESSAGE") holder = json_string(value).value_or("");
      if (key == "_HOSTNAME") e.host = json_string(value).value_or("");
      if (key == "__REALTIME_TIMESTAMP") {
        const auto token = scalar_token(value);
        const auto ns = token ? parse_scaled_ns(*token, 1000) : std::nullopt;
        if (ns && *ns >= 0 && *ns <= kMaxTime) e.time = *ns;
      }
    }
    e.message = holder;
    return true;
  }

  // Without a host in the log its file name stands for it, so that logs of several hosts stay
  // apart.
  std::string host_of(const Entry& e) const {
    if (!e.host.empty()) return e.host;
    const std::string_view file =
        std::string_view(context_.path).substr(context_.path.rfind('/') + 1);
    return std::string(file.substr(0, file.find('.', 1)));
  }

  void add(const Entry& e, KernelFault f) {
    const std::string host = host_of(e);
    Event event;
    event.kind = std::move(f.kind);
    const size_t slash = f.device.find('/');
    event.entity = slash == std::string::npos
                       ? "host/" + host
                       : f.device.substr(0, slash + 1) + host + ":" + f.device.substr(slash + 1);
    event.start = e.time;
    event.attributes = std::move(f.attributes);
    constexpr size_t kMessage = 300;
    event.attributes.emplace_back("message", e.message.substr(0, kMessage));
    if (e.since_boot) event.attributes.emplace_back("clock", "boot");
    event.source = context_.path;
    context_.out.events.push_back(std::move(event));
  }

  ImportContext context_;
  std::string year_;
  JsonLine json_;
};

}  // namespace

extern const Importer importer_kernel_log{
    .name = "kernel_log",
    .summary =
        "kernel logs: Xid, links, memory and hardware errors, out of memory, storage, thermal "
        "throttling",
    .formats = "dmesg (also -T), journalctl -k (short, short-iso, json), /var/log/kern.log",
    .health = kHealth,
    .sniff = sniff,
    .open = [](ImportContext c) -> std::unique_ptr<Reader> {
      return std::make_unique<KernelLogReader>(std::move(c));
    }};

}  // namespace firstwait
