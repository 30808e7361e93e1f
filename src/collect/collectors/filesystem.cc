// Size and free space of each mounted file system: statfs. A dead server must not hold up the
// others.
#include <sys/statvfs.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <thread>

#include "base/text.h"
#include "collect/sys_values.h"

namespace firstwait {
namespace {

constexpr MetricKind kG = MetricKind::gauge;
constexpr Metric kMetrics[] = {
    {"node_filesystem_size_bytes", kG, "Filesystem size in bytes."},
    {"node_filesystem_free_bytes", kG, "Filesystem free space in bytes."},
    {"node_filesystem_avail_bytes", kG, "Filesystem space available to non-root users in bytes."},
    {"node_filesystem_files", kG, "Filesystem total file nodes."},
    {"node_filesystem_files_free", kG, "Filesystem total free file nodes."},
    {"node_filesystem_readonly", kG, "Filesystem read-only status."},
    {"node_filesystem_device_error", kG,
     "Whether an error occurred while getting statistics for the given device."}};
constexpr size_t kValues = 6, kError = 6;

// As node_exporter leaves them out by default.
constexpr std::string_view kIgnoredTypes[] = {
    "autofs",     "binfmt_misc", "bpf",       "cgroup",   "cgroup2",   "configfs",
    "debugfs",    "devpts",      "devtmpfs",  "fusectl",  "hugetlbfs", "iso9660",
    "mqueue",     "nsfs",        "overlay",   "proc",     "procfs",    "pstore",
    "rpc_pipefs", "securityfs",  "selinuxfs", "squashfs", "sysfs",     "tracefs"};
constexpr std::string_view kIgnoredPlaces[] = {
    "/dev", "/proc", "/sys", "/run/credentials", "/var/lib/docker", "/var/lib/containers/storage"};

// Asks for one mount on a thread of its own, which may hang for ever: it keeps alive what it uses.
struct Probe {
  std::string path;
  std::mutex mutex;
  std::condition_variable changed;
  bool asked = false, stop = false;
  uint64_t answers = 0;
  int error = 0;
  struct statvfs answer {};
};

void run_probe(const std::shared_ptr<Probe>& p) {
  std::unique_lock lock(p->mutex);
  for (;;) {
    p->changed.wait(lock, [&] { return p->asked || p->stop; });
    if (p->stop) return;
    lock.unlock();
    struct statvfs answer {};
    const int error = ::statvfs(p->path.c_str(), &answer) == 0 ? 0 : errno;
    lock.lock();
    p->asked = false;
    ++p->answers;
    p->error = error;
    p->answer = answer;
    p->changed.notify_all();
  }
}

bool is_remote(std::string_view type) {
  constexpr std::string_view kRemote[] = {"nfs",  "nfs4",   "cifs", "smb3", "lustre",
                                          "ceph", "beegfs", "gpfs", "9p",   "afs"};
  return type.starts_with("fuse") ||
         std::find(std::begin(kRemote), std::end(kRemote), type) != std::end(kRemote);
}

// mountinfo writes blanks in names as "\040".
std::string unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto octal = [&](size_t at) {
      return at < text.size() && text[at] >= '0' && text[at] <= '7' ? text[at] - '0' : -1;
    };
    if (text[i] == '\\' && octal(i + 1) >= 0 && octal(i + 2) >= 0 && octal(i + 3) >= 0) {
      out += static_cast<char>(octal(i + 1) * 64 + octal(i + 2) * 8 + octal(i + 3));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

struct Mount {
  SeriesId ids[std::size(kMetrics)];
  std::string path;
  std::shared_ptr<Probe> probe;  // null: local
};

class Filesystem final : public Sampling {
 public:
  explicit Filesystem(const World& world)
      : base_(world.root.base),
        file_(world.root.proc + (world.root.live() ? "/self/mountinfo" : "/1/mountinfo")) {}
  ~Filesystem() override {
    mounts_.each([](std::string_view, Mount& m) { end(m); });
  }

  Presence sample(Out& out) override {
    const auto text = out.read(file_);
    if (!text) return presence_of(file_.error());
    mounts_.begin();
    Scan lines(*text);
    std::string_view line;
    std::vector<Mount*> remote;
    std::vector<std::string> seen;
    bool any = false;
    // First the mounts, since reading one uses nothing of the text any more.
    while (lines.line(line)) {
      const size_t dash = line.find(" - ");
      if (dash == std::string_view::npos) continue;
      Scan head(line), tail(line.substr(dash + 3));
      if (!head.skip(4)) continue;
      const std::string point = unescape(head.word());
      const std::string_view type = tail.word();
      const std::string device = unescape(tail.word());
      // Later mounts of one place cover the earlier ones.
      if (ignored(type, point) || std::find(seen.begin(), seen.end(), point) != seen.end() ||
          seen.size() >= 512)
        continue;
      seen.push_back(point);
      Mount* m = mounts_.get(device + " " + point,
                             [&](std::string_view) { return open(device, type, point, out); });
      if (m == nullptr) continue;
      any = true;
      if (m->probe)
        remote.push_back(m);
      else
        local(*m, out);
    }
    for (Mount* m : remote) ask(*m);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    for (Mount* m : remote) answer(*m, deadline, out);
    mounts_.sweep([&](Mount& m) {
      for (const SeriesId id : m.ids) out.release(id);
      end(m);
    });
    return any ? Presence::present : Presence::absent;
  }

 private:
  static bool ignored(std::string_view type, std::string_view point) {
    if (std::find(std::begin(kIgnoredTypes), std::end(kIgnoredTypes), type) !=
        std::end(kIgnoredTypes))
      return true;
    for (const std::string_view place : kIgnoredPlaces)
      if (point == place || (point.starts_with(place) && point[place.size()] == '/')) return true;
    return false;
  }

  Mount open(std::string_view device, std::string_view type, const std::string& point, Out& out) {
    Mount m;
    m.path = base_ + point;
    for (size_t i = 0; i < std::size(kMetrics); ++i)
      m.ids[i] =
          out.series(kMetrics[i], {{"device", device}, {"fstype", type}, {"mountpoint", point}});
    if (!is_remote(type)) return m;
    m.probe = std::make_shared<Probe>();
    m.probe->path = m.path;
    std::thread([p = m.probe] { run_probe(p); }).detach();
    return m;
  }
  static void end(Mount& m) {
    if (!m.probe) return;
    const std::lock_guard lock(m.probe->mutex);
    m.probe->stop = true;
    m.probe->changed.notify_all();
  }

  static void put(const Mount& m, const struct statvfs& s, Out& out) {
    const auto bytes = [&](auto blocks) {
      int64_t product = 0;
      return __builtin_mul_overflow(static_cast<int64_t>(blocks), static_cast<int64_t>(s.f_frsize),
                                    &product)
                 ? int64_t{-1}
                 : product;
    };
    const int64_t values[kValues] = {bytes(s.f_blocks),
                                     bytes(s.f_bfree),
                                     bytes(s.f_bavail),
                                     static_cast<int64_t>(s.f_files),
                                     static_cast<int64_t>(s.f_ffree),
                                     (s.f_flag & ST_RDONLY) != 0 ? 1 : 0};
    for (size_t i = 0; i < kValues; ++i)
      if (values[i] >= 0) out.put(m.ids[i], values[i]);
  }

  static void local(const Mount& m, Out& out) {
    struct statvfs s {};
    const bool good = ::statvfs(m.path.c_str(), &s) == 0;
    if (good) put(m, s, out);
    out.put(m.ids[kError], good ? 0 : 1);
  }

  static void ask(Mount& m) {
    const std::lock_guard lock(m.probe->mutex);
    if (m.probe->asked) return;  // still waits for the last answer
    m.probe->asked = true;
    m.probe->changed.notify_all();
  }
  static void answer(Mount& m, std::chrono::steady_clock::time_point deadline, Out& out) {
    std::unique_lock lock(m.probe->mutex);
    const bool answered =
        m.probe->changed.wait_until(lock, deadline, [&] { return !m.probe->asked; });
    if (answered && m.probe->error == 0) put(m, m.probe->answer, out);
    out.put(m.ids[kError], answered && m.probe->error == 0 ? 0 : 1);
  }

  std::string base_;
  File file_;
  ByPosition<Mount> mounts_;
};

}  // namespace

extern const Collector collector_filesystem{
    .name = "filesystem",
    .what = "size and free space of each mounted file system",
    .metrics = kMetrics,
    .reads = "/proc/self/mountinfo and statfs",
    .needs = "",
    .period = 10'000'000'000,
    .may_hang = true,
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Filesystem>(w);
    }};

}  // namespace firstwait
