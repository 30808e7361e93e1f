// Limits, throttling and pressure of the control groups that the job's processes are in: cgroup v1
// and v2.
#include <map>
#include <set>

#include "base/text.h"
#include "collect/processes.h"
#include "collect/sys_values.h"

namespace firstwait {
namespace {

constexpr int64_t kNano = 1'000'000'000, kMicro = 1'000'000;
constexpr MetricKind kC = MetricKind::counter, kG = MetricKind::gauge;
constexpr Metric kMetrics[] = {
    {"firstwait_cgroup_cpu_quota_cores", kG,
     "Cores that the quota allows, the tightest of the group and those above it.", kMicro},
    {"firstwait_cgroup_cpu_throttled_seconds_total", kC,
     "Time that the group was held by its CPU quota.", kNano},
    {"firstwait_cgroup_cpu_throttled_periods_total", kC,
     "Periods in which the group used up its CPU quota."},
    {"firstwait_cgroup_cpu_periods_total", kC, "Periods of the CPU quota in which the group ran."},
    {"firstwait_cgroup_memory_limit_bytes", kG,
     "Memory limit, the tightest of the group and those above it."},
    {"firstwait_cgroup_memory_usage_bytes", kG, "Memory in use, page cache included."},
    {"firstwait_cgroup_oom_kills_total", kC,
     "Processes killed because the group reached its memory limit."},
    {"firstwait_cgroup_pressure_waiting_seconds_total", kC,
     "Time in which some task of the group waited for the resource.", kMicro},
    {"firstwait_cgroup_pressure_stalled_seconds_total", kC,
     "Time in which all tasks of the group waited for the resource.", kMicro}};
enum : size_t {
  kQuota,
  kThrottled,
  kThrottledPeriods,
  kPeriods,
  kLimit,
  kUsage,
  kKills,
  kWaiting,
  kStalled
};

constexpr std::string_view kResources[] = {"cpu", "memory", "io"};

// Where a process is in each hierarchy, as /proc/PID/cgroup says.
struct Place {
  std::string unified, cpu, memory;  // paths; empty: not in it
  auto operator<=>(const Place&) const = default;
};

Place place_of(std::string_view text) {
  Place p;
  Scan lines(text);
  std::string_view line;
  while (lines.line(line)) {
    Scan scan(line);
    const std::string_view id = scan.until(':'), controllers = scan.until(':'), path = scan.rest();
    // A path through ".." lies outside what this mount shows.
    if (!path.starts_with("/") || contains(path, "/..")) continue;
    if (id == "0" && controllers.empty()) p.unified = path;
    for (const std::string_view c : split(controllers, ',')) {
      if (c == "cpu") p.cpu = path;
      if (c == "memory") p.memory = path;
    }
  }
  return p;
}

struct Group {
  Place place;
  std::string label;
  std::string rank;  // when all of the job's processes in it are of one
  std::vector<std::pair<File, bool>>
      quotas;                           // from the group up to the root; true: the two files of v1
  std::vector<File> periods;            // of v1, parallel to quotas
  std::vector<File> cpu_stats, limits;  // from the group up
  std::vector<File> usage, kills, pressure;  // of the group; pressure parallel to kResources
  SeriesId ids[kWaiting];
  SeriesId waiting[3], stalled[3];
};

class Cgroup final : public Sampling {
 public:
  explicit Cgroup(const World& world) : root_(world.root), processes_(world.processes) {}

  Presence sample(Out& out) override {
    if (!processes_) return Presence::absent;
    if (processes_->generation() != generation_) adopt(out);
    bool any = false;
    for (Group& g : groups_) any = read(g, out) || any;
    return any ? Presence::present : Presence::idle;
  }

 private:
  void adopt(Out& out) {
    generation_ = processes_->generation();
    constexpr size_t kGroupLimit = 64;
    std::map<Place, std::set<int32_t>> wanted;  // the ranks in each
    for (const JobProcess& p : processes_->list()) {
      if (p.role == ProcessRole::other) continue;
      const auto text = read_whole(root_.proc + "/" + std::to_string(p.pid) + "/cgroup", 64 << 10);
      if (!text) continue;
      Place place = place_of(*text);
      if (wanted.size() < kGroupLimit || wanted.contains(place))
        wanted[std::move(place)].insert(p.rank);
    }
    const auto rank = [](const std::set<int32_t>& ranks) {
      return ranks.size() == 1 && *ranks.begin() >= 0 ? std::to_string(*ranks.begin())
                                                      : std::string();
    };
    std::erase_if(groups_, [&](const Group& g) {
      const auto still = wanted.find(g.place);
      if (still != wanted.end() && rank(still->second) == g.rank) return false;
      for (const SeriesId id : g.ids) out.release(id);
      for (const SeriesId id : g.waiting) out.release(id);
      for (const SeriesId id : g.stalled) out.release(id);
      return true;
    });
    for (const auto& [place, ranks] : wanted)
      if (std::none_of(groups_.begin(), groups_.end(),
                       [&](const Group& g) { return g.place == place; })) {
        groups_.push_back(open(place));
        groups_.back().rank = rank(ranks);
      }
  }

  // The first of the usual mount points under which the group exists.
  std::string mount(std::initializer_list<std::string_view> names, const std::string& path) const {
    for (const std::string_view name : names) {
      const std::string at = root_.sys + "/fs/cgroup" + std::string(name);
      if (!path.empty() && !list_directory(at + path, 1).empty()) return at;
    }
    return {};
  }

  Group open(const Place& place) const {
    Group g;
    g.place = place;
    g.label = !place.unified.empty() && place.unified != "/" ? place.unified
              : !place.cpu.empty()                           ? place.cpu
                                                             : place.unified;
    std::fill(std::begin(g.ids), std::end(g.ids), kNoSeries);
    std::fill(std::begin(g.waiting), std::end(g.waiting), kNoSeries);
    std::fill(std::begin(g.stalled), std::end(g.stalled), kNoSeries);
    const std::string two = mount({"", "/unified"}, place.unified);
    const std::string cpu = mount({"/cpu,cpuacct", "/cpu"}, place.cpu),
                      memory = mount({"/memory"}, place.memory);
    const auto up = [](std::string path, auto f) {
      for (int depth = 0; depth < 64; ++depth) {
        f(path == "/" ? std::string() : path);
        if (path.size() <= 1) return;
        path = path.rfind('/') == 0 ? "/" : path.substr(0, path.rfind('/'));
      }
    };
    if (!cpu.empty())
      up(place.cpu, [&](const std::string& path) {
        g.quotas.emplace_back(File(cpu + path + "/cpu.cfs_quota_us", true), true);
        g.periods.emplace_back(cpu + path + "/cpu.cfs_period_us", true);
        g.cpu_stats.emplace_back(cpu + path + "/cpu.stat", true);
      });
    if (!memory.empty()) {
      up(place.memory, [&](const std::string& path) {
        g.limits.emplace_back(memory + path + "/memory.limit_in_bytes", true);
      });
      g.usage.emplace_back(memory + place.memory + "/memory.usage_in_bytes", true);
      g.kills.emplace_back(memory + place.memory + "/memory.oom_control", true);
    }
    if (two.empty()) return g;
    const std::string at = two + (place.unified == "/" ? "" : place.unified);
    if (cpu.empty())
      up(place.unified, [&](const std::string& path) {
        g.quotas.emplace_back(File(two + path + "/cpu.max", true), false);
        g.periods.emplace_back("", true);
        g.cpu_stats.emplace_back(two + path + "/cpu.stat", true);
      });
    if (memory.empty()) {
      up(place.unified,
         [&](const std::string& path) { g.limits.emplace_back(two + path + "/memory.max", true); });
      g.usage.emplace_back(at + "/memory.current", true);
      g.kills.emplace_back(at + "/memory.events", true);
    }
    for (const std::string_view r : kResources)
      g.pressure.emplace_back(at + "/" + std::string(r) + ".pressure", true);
    return g;
  }

  static std::vector<Label> labels(const Group& g) {
    std::vector<Label> out = {{"cgroup", g.label}};
    if (!g.rank.empty()) out.push_back({"rank", g.rank});
    return out;
  }

  void put(Group& g, size_t what, int64_t value, Out& out) {
    if (g.ids[what] == kNoSeries) g.ids[what] = out.series(kMetrics[what], labels(g));
    out.put(g.ids[what], value);
  }

  // Quota and period in microseconds; false when there is no quota.
  static bool quota(Group& g, size_t level, int64_t& used, int64_t& period, Out& out) {
    auto& [file, v1] = g.quotas[level];
    const auto text = out.read(file);
    if (!text) return false;
    if (!v1) {
      Scan scan(*text);  // "max 100000"
      return scan.number(used) && scan.number(period) && used > 0 && period > 0;
    }
    return whole_number(*text, used) && used > 0 && out.read_number(g.periods[level], period) &&
           period > 0;
  }

  bool read(Group& g, Out& out) {
    bool any = false;
    int64_t tightest = INT64_MAX;
    size_t binding = 0;
    for (size_t level = 0; level < g.quotas.size(); ++level) {
      int64_t used = 0, period = 0;
      if (!quota(g, level, used, period, out) || used > INT64_MAX / kMicro) continue;
      const int64_t cores = used * kMicro / period;
      if (cores < tightest) {
        tightest = cores;
        binding = level;
      }
    }
    if (tightest != INT64_MAX) put(g, kQuota, tightest, out);
    any = tightest != INT64_MAX;
    // Who holds the group is whose quota binds.
    if (binding < g.cpu_stats.size())
      if (const auto text = out.read(g.cpu_stats[binding])) any = cpu_stat(g, *text, out) || any;
    int64_t limit = INT64_MAX, value = 0;
    for (File& f : g.limits)
      if (const auto text = out.read(f); text && whole_number(*text, value))
        limit = std::min(limit, value);
    // v1 writes "no limit" as the largest number of whole pages.
    constexpr int64_t kNoLimit = INT64_MAX / 2;
    if (limit < kNoLimit) put(g, kLimit, limit, out);
    for (File& f : g.usage)
      if (const auto text = out.read(f); text && whole_number(*text, value))
        put(g, kUsage, value, out), any = true;
    for (File& f : g.kills)
      if (const auto text = out.read(f))
        if (const size_t at = text->find("oom_kill "); at != std::string_view::npos)
          if (Scan(text->substr(at + 9)).number(value)) put(g, kKills, value, out);
    return pressure(g, out) || any;
  }

  bool cpu_stat(Group& g, std::string_view text, Out& out) {
    bool any = false;
    Scan lines(text);
    std::string_view line;
    while (lines.line(line)) {
      Scan scan(line);
      const std::string_view key = scan.word();
      int64_t value = 0;
      if (!scan.number(value)) continue;
      if (key == "throttled_usec" && value < INT64_MAX / 1000)
        put(g, kThrottled, value * 1000, out), any = true;
      if (key == "throttled_time") put(g, kThrottled, value, out), any = true;
      if (key == "nr_throttled") put(g, kThrottledPeriods, value, out);
      if (key == "nr_periods") put(g, kPeriods, value, out);
    }
    return any;
  }

  bool pressure(Group& g, Out& out) {
    bool any = false;
    for (size_t i = 0; i < g.pressure.size(); ++i) {
      const auto text = out.read(g.pressure[i]);
      if (!text) continue;
      Scan lines(*text);
      std::string_view line;
      while (lines.line(line)) {
        const size_t at = line.find("total=");
        int64_t total = 0;
        if (at == std::string_view::npos || !whole_number(line.substr(at + 6), total)) continue;
        const bool some = line.starts_with("some");
        SeriesId& id = some ? g.waiting[i] : g.stalled[i];
        if (id == kNoSeries) {
          auto of_resource = labels(g);
          of_resource.push_back({"resource", kResources[i]});
          id = out.series(kMetrics[some ? kWaiting : kStalled], of_resource);
        }
        out.put(id, total);
        any = true;
      }
    }
    return any;
  }

  Root root_;
  std::shared_ptr<Processes> processes_;
  uint64_t generation_ = UINT64_MAX;
  std::vector<Group> groups_;
};

}  // namespace

extern const Collector collector_cgroup{
    .name = "cgroup",
    .what = "CPU quota and throttling, memory limit and use, pressure of the job's control groups",
    .metrics = kMetrics,
    .reads = "/proc/PID/cgroup, /sys/fs/cgroup (v1 and v2)",
    .needs = "",
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Cgroup>(w);
    }};

}  // namespace firstwait
