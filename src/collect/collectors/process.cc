// What the job's processes use and wait for, by rank and role: /proc/PID of those that Processes
// knows.
#include <unistd.h>

#include "collect/processes.h"
#include "collect/sys_values.h"

namespace firstwait {
namespace {

constexpr int64_t kTicks = 100, kNano = 1'000'000'000;
constexpr MetricKind kC = MetricKind::counter, kG = MetricKind::gauge;
enum : size_t {
  kCpu,
  kRunqueue,
  kReadBytes,
  kReadChars,
  kWrittenBytes,
  kBlockIo,
  kSwitches,
  kMajorFaults,
  kCounters,
  kThreads = kCounters,
  kProcesses,
  kUninterruptible,
  kResident,
  kAll
};
constexpr Metric kMetrics[] = {
    {"firstwait_process_cpu_seconds_total", kC, "CPU time of the job's processes, user and system.",
     kTicks},
    {"firstwait_process_runqueue_seconds_total", kC,
     "Time that threads were ready to run and waited for a core.", kNano},
    {"firstwait_process_read_bytes_total", kC, "Bytes that were read from storage."},
    {"firstwait_process_read_chars_total", kC,
     "Bytes that read calls returned, from wherever: FUSE and cached reads too."},
    {"firstwait_process_written_bytes_total", kC, "Bytes that were sent to storage."},
    {"firstwait_process_block_io_delay_seconds_total", kC,
     "Time that was spent waiting for block I/O; absent when the kernel does not account for it.",
     kTicks},
    {"firstwait_process_involuntary_context_switches_total", kC,
     "Times that a main thread lost its core to another."},
    {"firstwait_process_major_faults_total", kC, "Page faults that had to read from storage."},
    {"firstwait_process_threads", kG, "Threads alive."},
    {"firstwait_processes", kG, "Processes alive."},
    {"firstwait_process_uninterruptible", kG,
     "Processes that wait for I/O at this moment (state D)."},
    {"firstwait_process_resident_bytes", kG,
     "Resident memory; shared pages count in each process."},
    {"firstwait_rank_info", kG,
     "One for each rank on this machine: which job, process and GPU it is."}};

// The processes of one rank in one role, summed. Counters go on when one of them ends.
struct Group {
  int32_t rank;
  ProcessRole role;
  int64_t sums[kAll] = {};
  bool known[kAll] = {};
  SeriesId ids[kAll];
  bool used = false;
};

struct Thread {
  int32_t id;
  int64_t waited;
  bool seen;
};

struct Watched {
  JobProcess process;
  File stat, io, schedstat, status;
  int64_t last[kCounters];  // -1: not yet read
  std::vector<Thread> threads;
  bool seen = true;
};

class Process final : public Sampling {
 public:
  explicit Process(const World& world)
      : root_(world.root),
        processes_(world.processes),
        accounting_(root_.proc + "/sys/kernel/task_delayacct", true) {}

  Presence sample(Out& out) override {
    if (!processes_) return Presence::absent;
    if (search_.due(out.now())) processes_->search(root_);
    if (processes_->generation() != generation_) adopt(out);
    const bool slow = slow_.due(out.now());
    // Kernels before 5.14 always account.
    int64_t accounted = 1;
    if (slow) accounts_ = !out.read_number(accounting_, accounted) || accounted != 0;
    for (Group& g : groups_)
      for (size_t i = kCounters; i < kAll; ++i) g.sums[i] = 0;
    for (Watched& w : watched_) read(w, group(w.process), slow, out);
    for (Group& g : groups_) write(g, out);
    for (const SeriesId id : infos_) out.put(id, 1);
    return watched_.empty() ? Presence::idle : Presence::present;
  }

 private:
  Group& group(const JobProcess& p) {
    for (Group& g : groups_)
      if (g.rank == p.rank && g.role == p.role) return g;
    Group& g = groups_.emplace_back(Group{p.rank, p.role, {}, {}, {}, false});
    std::fill(std::begin(g.ids), std::end(g.ids), kNoSeries);
    return g;
  }

  void adopt(Out& out) {
    generation_ = processes_->generation();
    for (Watched& w : watched_) w.seen = false;
    for (const SeriesId id : infos_) out.release(id);
    infos_.clear();
    for (const JobProcess& p : processes_->list()) {
      const auto known = std::find_if(watched_.begin(), watched_.end(), [&](const Watched& w) {
        return w.process.pid == p.pid && w.process.started == p.started;
      });
      if (known != watched_.end()) {
        known->seen = true;
        known->process = p;
      } else {
        const std::string at = root_.proc + "/" + std::to_string(p.pid) + "/";
        watched_.push_back({p,
                            File(at + "stat", true),
                            File(at + "io", true),
                            File(at + "schedstat", true),
                            File(at + "status"),
                            {},
                            {},
                            true});
        std::fill(std::begin(watched_.back().last), std::end(watched_.back().last), -1);
      }
      if (p.role == ProcessRole::trainer && p.rank >= 0) info(p, out);
    }
    std::erase_if(watched_, [](const Watched& w) { return !w.seen; });
  }

  void info(const JobProcess& p, Out& out) {
    const std::string gpu = processes_->gpu_of(p), rank = std::to_string(p.rank),
                      pid = std::to_string(p.pid);
    std::vector<Label> labels = {{"train_job", p.job}, {"rank", rank}, {"pid", pid}};
    if (!gpu.empty()) labels.push_back({"gpu", gpu});
    infos_.push_back(out.series(kMetrics[kAll], labels));
  }

  // Adds what was used since the last sampling; of a new process, all that it has used so far.
  static void add(Watched& w, Group& g, size_t what, int64_t value, bool from_start = true) {
    int64_t& last = w.last[what];
    if (last < 0 && !from_start) last = value;
    const int64_t more = value - std::max<int64_t>(last, 0);
    // A counter that went back is another process's: its like will be gone at the next search.
    if (more > 0) g.sums[what] += more;
    g.known[what] = true;
    last = value;
  }

  void read(Watched& w, Group& g, bool slow, Out& out) {
    ProcessStat s;
    const auto stat = out.read(w.stat);
    if (!stat || !parse_stat(*stat, s) || s.started != w.process.started) return;  // it ended
    g.used = true;
    add(w, g, kCpu, s.user + s.system);
    add(w, g, kMajorFaults, s.major_faults);
    g.sums[kThreads] += s.threads;
    ++g.sums[kProcesses];
    if (s.state == 'D') ++g.sums[kUninterruptible];
    static const int64_t page = ::sysconf(_SC_PAGESIZE);
    g.sums[kResident] += s.resident_pages * page;
    for (size_t i = kCounters; i < kAll; ++i) g.known[i] = true;
    if (accounts_ && s.block_io_ticks >= 0) {
      // Just after accounting was switched on, kernels give the uptime: more than a second a thread
      // and second is none.
      const int64_t before = w.last[kBlockIo];
      const bool plausible =
          before >= 0 && s.block_io_ticks - before <= kTicks * 10 * std::max<int64_t>(s.threads, 1);
      if (before >= 0 && !plausible) w.last[kBlockIo] = s.block_io_ticks;
      add(w, g, kBlockIo, s.block_io_ticks, false);
    }
    if (const auto io = out.read(w.io)) read_io(w, g, *io);
    if (w.process.role == ProcessRole::trainer && s.threads > 1) {
      if (slow) read_threads(w, g, out);
    } else if (const auto schedstat = out.read(w.schedstat)) {
      Scan scan(*schedstat);
      int64_t waited = 0;
      if (scan.skip(1) && scan.number(waited)) add(w, g, kRunqueue, waited);
    }
    if (slow)
      if (const auto status = out.read(w.status)) {
        constexpr std::string_view kKey = "nonvoluntary_ctxt_switches:";
        int64_t switches = 0;
        const size_t at = status->find(kKey);
        if (at != std::string_view::npos && Scan(status->substr(at + kKey.size())).number(switches))
          add(w, g, kSwitches, switches);
      }
  }

  static void read_io(Watched& w, Group& g, std::string_view text) {
    Scan lines(text);
    std::string_view line;
    while (lines.line(line)) {
      const size_t what = line.starts_with("rchar:")         ? size_t{kReadChars}
                          : line.starts_with("read_bytes:")  ? size_t{kReadBytes}
                          : line.starts_with("write_bytes:") ? size_t{kWrittenBytes}
                                                             : size_t{kAll};
      int64_t value = 0;
      if (what != kAll && whole_number(line.substr(line.find(':') + 1), value))
        add(w, g, what, value);
    }
  }

  // The process's own schedstat is that of its first thread alone.
  void read_threads(Watched& w, Group& g, Out& out) {
    constexpr size_t kThreadLimit = 512;
    const std::string dir = root_.proc + "/" + std::to_string(w.process.pid) + "/task";
    for (Thread& t : w.threads) t.seen = false;
    for (const std::string& name : list_directory(dir, kThreadLimit)) {
      int64_t id = 0, waited = 0;
      File file(dir + "/" + name + "/schedstat", true);
      const auto text = whole_number(name, id) ? out.read(file) : std::nullopt;
      if (!text) continue;
      Scan scan(*text);
      if (!scan.skip(1) || !scan.number(waited)) continue;
      const auto known = std::find_if(w.threads.begin(), w.threads.end(),
                                      [&](const Thread& t) { return t.id == id; });
      const int64_t before = known == w.threads.end() ? 0 : known->waited;
      if (waited > before) g.sums[kRunqueue] += waited - before;
      g.known[kRunqueue] = true;
      if (known == w.threads.end())
        w.threads.push_back({static_cast<int32_t>(id), waited, true});
      else
        *known = {known->id, waited, true};
    }
    std::erase_if(w.threads, [](const Thread& t) { return !t.seen; });
  }

  void write(Group& g, Out& out) {
    if (!g.used) return;
    for (size_t i = 0; i < kAll; ++i) {
      if (!g.known[i] || (i == kBlockIo && !accounts_)) continue;
      if (g.ids[i] == kNoSeries)
        g.ids[i] = out.series(kMetrics[i], {{"rank", g.rank < 0 ? "" : std::to_string(g.rank)},
                                            {"role", name(g.role)}});
      out.put(g.ids[i], g.sums[i]);
    }
  }

  Root root_;
  std::shared_ptr<Processes> processes_;
  File accounting_;
  bool accounts_ = false;
  uint64_t generation_ = UINT64_MAX;
  Occasionally search_{Ns{5} * kNano}, slow_{Ns{5} * kNano};
  std::vector<Watched> watched_;
  std::vector<Group> groups_;
  std::vector<SeriesId> infos_;
};

}  // namespace

extern const Collector collector_process{
    .name = "process",
    .what =
        "what the job's trainers and loader workers use and wait for, by rank: CPU, run queue, "
        "reads, I/O delay, threads",
    .metrics = kMetrics,
    .reads = "/proc/PID/{stat,io,schedstat,status,task,environ,cmdline}",
    .needs =
        "the same user as the job, or CAP_SYS_PTRACE (environment, I/O); kernel.task_delayacct=1 "
        "for I/O delay",
    .period =
        2'000'000'000,  // three files a process: with 200 of them the largest part of the cost
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Process>(w);
    }};

}  // namespace firstwait
