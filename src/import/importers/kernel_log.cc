// Kernel logs: dmesg (seconds since boot or -T), journalctl (short, ISO, JSON), syslog. Faults
// become events.
#include <sys/stat.h>

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "import/importer.h"
#include "import/json_fields.h"

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

struct XidMeaning {
  int64_t code;
  std::string_view meaning;
};
// From NVIDIA's Xid documentation; the codes that interrupt or slow training.
constexpr XidMeaning kXids[] = {{8, "GPU stopped processing"},
                                {13, "graphics engine exception"},
                                {31, "GPU memory page fault"},
                                {32, "invalid or corrupted push buffer"},
                                {43, "GPU stopped processing"},
                                {45, "preemptive cleanup, due to previous errors"},
                                {48, "double bit ECC error"},
                                {61, "internal micro-controller breakpoint"},
                                {62, "internal micro-controller halt"},
                                {63, "row remapping or page retirement recorded"},
                                {64, "row remapping or page retirement failed"},
                                {68, "NVDEC exception"},
                                {69, "graphics engine class error"},
                                {74, "NVLink error"},
                                {79, "GPU has fallen off the bus"},
                                {92, "high single bit ECC error rate"},
                                {94, "contained ECC error"},
                                {95, "uncontained ECC error"},
                                {109, "context switch timeout"},
                                {119, "GSP RPC timeout"},
                                {120, "GSP error"},
                                {121, "C2C link error"},
                                {122, "SPI PMU RPC read failure"},
                                {136, "link training failed"},
                                {140, "unrecovered ECC error"},
                                {145, "NVLink RLW error"},
                                {149, "NVLink NETIR error"},
                                {154, "GPU recovery action changed"}};

// What a line says, when it says something that matters.
struct Found {
  std::string kind, device;  // device: "gpu/PCI...", "nic/eth0"; empty: the host
  std::vector<std::pair<std::string, std::string>> attributes;
};

// The word behind `marker`; empty when it is not there.
std::string_view after(std::string_view text, std::string_view marker,
                       std::string_view ends = " ,:;)]") {
  const size_t at = text.find(marker);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + marker.size());
  return rest.substr(0, std::min(rest.find_first_of(ends), rest.size()));
}

// "0000:9b:00" of "PCI:0000:9b:00" and of "0000:9b:00.0".
std::string_view bus_id(std::string_view text) {
  if (const auto pci = after(text, "PCI:", " )],"); !pci.empty()) return pci;
  return {};
}

bool find_gpu(std::string_view m, Found& f) {
  const size_t xid = m.find("Xid (");
  if (contains(m, "NVRM") && xid != std::string_view::npos) {
    const std::string_view rest = m.substr(xid);
    const size_t close = rest.find("): ");
    const auto code = close == std::string_view::npos ? std::nullopt
                                                      : parse_int(after(rest.substr(close), "): "));
    if (!code) return false;
    f.kind = "xid";
    f.device = "gpu/" + std::string(bus_id(rest));
    f.attributes = {{"code", std::to_string(*code)}, {"bus", std::string(bus_id(rest))}};
    for (const auto& x : kXids)
      if (x.code == *code) f.attributes.emplace_back("meaning", x.meaning);
    if (const auto pid = after(rest, "pid="); !pid.empty()) f.attributes.emplace_back("pid", pid);
    if (const auto name = after(rest, "name="); !name.empty())
      f.attributes.emplace_back("process", name);
    return true;
  }
  if (contains(m, "fallen off the bus")) {
    f.kind = "xid";
    f.device = "gpu/" + std::string(bus_id(m));
    f.attributes = {
        {"code", "79"}, {"bus", std::string(bus_id(m))}, {"meaning", "GPU has fallen off the bus"}};
    return true;
  }
  return false;
}

// The interface a link message is about: the last word before "Link" or "NIC Link" that names one.
std::string interface_of(std::string_view m) {
  for (const std::string_view marker :
       {": NIC Link", " NIC Link", ": Link", ": link", ": port ", " link becomes"}) {
    const size_t at = m.find(marker);
    if (at == std::string_view::npos) continue;
    const auto words = split_blank(m.substr(0, at));
    for (auto word = words.rbegin(); word != words.rend(); ++word) {
      std::string_view w = *word;
      while (!w.empty() && (w.back() == ':' || w.back() == ',')) w.remove_suffix(1);
      // "0000:3b:00.0" is the device's place, not its name.
      if (!w.empty() && w.find(':') == std::string_view::npos &&
          w.find('(') == std::string_view::npos && w != "(NETDEV_CHANGE)")
        return std::string(w);
    }
  }
  return {};
}

bool find_link(std::string_view m, Found& f) {
  const bool about_link =
      contains_ignoring_case(m, "link up") || contains_ignoring_case(m, "link down") ||
      contains_ignoring_case(m, "link is up") || contains_ignoring_case(m, "link is down") ||
      contains_ignoring_case(m, "link becomes ready");
  if (!about_link || contains_ignoring_case(m, "SATA") || contains_ignoring_case(m, "usb"))
    return false;
  const bool down = contains_ignoring_case(m, "down");
  f.kind = down ? "link_down" : "link_up";
  const std::string device = interface_of(m);
  if (!device.empty()) f.device = "nic/" + device;
  const size_t gbps = m.find("Gbps");
  if (gbps != std::string_view::npos) {
    const auto words = split_blank(m.substr(0, gbps));
    if (!words.empty()) f.attributes.emplace_back("gbit_per_second", words.back());
  }
  return true;
}

bool find_host(std::string_view m, Found& f) {
  if (contains(m, "Out of memory:") || contains(m, "Memory cgroup out of memory") ||
      contains(m, "oom-kill:")) {
    // "oom-kill:" announces the victim that the next line names with more detail.
    f.kind = "oom";
    if (const auto pid = after(m, "ocess "); !pid.empty() && parse_int(pid))
      f.attributes.emplace_back("pid", pid);
    if (const auto pid = after(m, "pid="); !pid.empty() && parse_int(pid))
      f.attributes.emplace_back("pid", pid);
    if (const auto name = after(m, "(", ")"); !name.empty() && contains(m, "rocess "))
      f.attributes.emplace_back("process", name);
    if (const auto task = after(m, "task="); !task.empty())
      f.attributes.emplace_back("process", task);
    f.attributes.emplace_back(
        "scope",
        contains(m, "cgroup out of memory") || contains(m, "CONSTRAINT_MEMCG") ? "cgroup" : "host");
    return true;
  }
  const auto is = [&](std::string_view kind, std::initializer_list<std::string_view> words) {
    const bool hit = std::any_of(words.begin(), words.end(),
                                 [&](auto w) { return contains_ignoring_case(m, w); });
    if (hit) f.kind = kind;
    return hit;
  };
  if (contains(m, "nfs: server ")) {
    const std::string server(after(m, "nfs: server ", " "));
    if (is("nfs_not_responding", {"not responding", "timed out"}) || is("nfs_ok", {" OK"})) {
      f.attributes.emplace_back("server", server);
      return true;
    }
  }
  if (is("throttle", {"temperature above threshold", "temperature/speed normal", "clock throttled",
                      "thermal throttl"})) {
    f.attributes.emplace_back("reason", "thermal");
    if (const auto cpu = after(m, "CPU"); parse_int(cpu)) f.attributes.emplace_back("cpu", cpu);
    return true;
  }
  if (is("hardware_error", {"[Hardware Error]", "Machine check events logged", "mce: [Hardware",
                            "EDAC MC", "PCIe Bus Error"})) {
    if (contains_ignoring_case(m, "uncorrect") || contains(m, " UE ") ||
        contains_ignoring_case(m, "fatal"))
      f.attributes.emplace_back("severity", "uncorrected");
    else if (contains_ignoring_case(m, "correct") || contains(m, " CE "))
      f.attributes.emplace_back("severity", "corrected");
    return true;
  }
  if (is("io_error", {"I/O error", "blk_update_request", "critical medium error", "Buffer I/O"}) ||
      (contains(m, "nvme") &&
       is("io_error", {"timeout, aborting", "timeout, reset controller", "controller is down"}))) {
    if (const auto device = after(m, "dev "); !device.empty())
      f.attributes.emplace_back("device", device);
    return true;
  }
  if (is("hung_task", {"blocked for more than"}) && contains(m, "task ")) {
    if (const auto task = after(m, "task "); !task.empty())
      f.attributes.emplace_back("process", task);
    return true;
  }
  f.kind.clear();
  return false;
}

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
    Found f;
    if (!find_gpu(e.message, f) && !find_link(e.message, f) && !find_host(e.message, f)) return;
    const std::string place = "line " + std::to_string(number);
    if (e.time == kNoTime) return context_.count(kHealth[kNoTimeFound], 1, place);
    if (e.since_boot) context_.count(kHealth[kSinceBoot], 1, place);
    if (e.no_year) context_.count(kHealth[kNoYear], 1, place);
    add(e, std::move(f));
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

  void add(const Entry& e, Found f) {
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
