#include "apps/run.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <optional>

#include "agent/bundle.h"
#include "apps/launch.h"
#include "apps/live.h"
#include "apps/run_report.h"
#include "base/text.h"
#include "collect/instrument/recorder.h"
#include "collect/processes.h"
#include "collect/sampler.h"

namespace firstwait {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kPollMilliseconds = 100;
constexpr auto kLivePeriod = std::chrono::seconds(3);
// The sampler keeps an hour: what it has is written before it forgets.
constexpr auto kNodePeriod = std::chrono::minutes(30);
// Compressed, half an hour takes some megabytes: days fit. Beyond it the oldest parts go.
constexpr uint64_t kNodeBytes = uint64_t{1} << 30;

// "train" of "python3 -m torch.distributed.run src/train.py": the first word that names a script,
// else the program.
std::string name_of(const std::vector<std::string>& command) {
  std::string name = command.front();
  for (const auto& word : command)
    if (word.ends_with(".py") || word.ends_with(".sh")) {
      name = word;
      break;
    }
  name = fs::path(name).stem().string();
  return name.empty() ? "job" : name;
}

// Folders of runs that were killed and whose processes are gone.
void remove_stale(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("firstwait-run-")) continue;
    const auto running = [](std::string_view digits) {
      const auto pid = parse_int(digits.substr(0, digits.find('-')));
      return !pid || *pid <= 0 || *pid > INT32_MAX || ::kill(static_cast<pid_t>(*pid), 0) == 0 ||
             errno == EPERM;
    };
    bool used = running(std::string_view(name).substr(14));
    for (const auto& ring : fs::directory_iterator(entry.path(), ignored))
      used = used || running(ring.path().filename().string());
    if (!used) fs::remove_all(entry.path(), ignored);
  }
}

// Where processes make their rings: memory, but not where there is so little that loaders would
// miss it.
Result<std::string> ring_folder() {
  constexpr uint64_t kEnough = uint64_t{256} << 20;
  std::vector<std::string> parents;
  if (const char* own = std::getenv("XDG_RUNTIME_DIR"); own != nullptr && *own == '/')
    parents.emplace_back(own);
  parents.insert(parents.end(), {"/dev/shm", fs::temp_directory_path().string()});
  std::string tried;
  for (const auto& parent : parents) {
    struct statvfs space {};
    if (::statvfs(parent.c_str(), &space) != 0) continue;
    if (&parent != &parents.back() && space.f_bavail * space.f_frsize < kEnough) continue;
    remove_stale(parent);
    std::string pattern = fmt::format("{}/firstwait-run-{}-XXXXXX", parent, ::getpid());
    if (::mkdtemp(pattern.data()) != nullptr) return pattern;
    tried = parent;
  }
  return Error{std::strerror(errno), tried, "set TMPDIR to a folder that can be written"};
}

// ../lib/firstwait beside the program, as it is built and installed.
std::string library_folder() {
  if (const char* named = std::getenv("FIRSTWAIT_LIB_DIR"); named != nullptr && *named != 0)
    return named;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return (program.parent_path().parent_path() / "lib" / "firstwait").string();
}

Launch::Environment environment_for(const std::string& rings) {
  const std::string library = library_folder();
  Launch::Environment add = {{"FIRSTWAIT_DIR", rings},
                             {"FIRSTWAIT_EMIT_LIBRARY", library + "/libfirstwait_emit.so"}};
  std::string path = library + "/python/site";
  if (const char* before = std::getenv("PYTHONPATH"); before != nullptr && *before != 0)
    path += std::string(":") + before;
  add.emplace_back("PYTHONPATH", path);
  const std::string plugin = library + "/libnccl-profiler-firstwait.so";
  if (std::getenv("NCCL_PROFILER_PLUGIN") == nullptr && ::access(plugin.c_str(), R_OK) == 0)
    add.emplace_back("NCCL_PROFILER_PLUGIN", plugin);
  return add;
}

class Run {
 public:
  Run(const RunOptions& options, std::string bundle, std::string rings, BundleWriter writer)
      : options_(options),
        bundle_(std::move(bundle)),
        rings_(std::move(rings)),
        recorder_(rings_, std::move(writer), clock_) {
    const bool terminal = ::isatty(STDERR_FILENO) != 0;
    if (options.live)
      live_.emplace(rings_ + "/live", terminal, terminal && ::isatty(STDOUT_FILENO) == 0);
  }
  ~Run() {
    live_.reset();
    std::error_code ignored;
    fs::remove_all(rings_, ignored);
  }

  void watch(Launch& program) {
    processes_->add_root(program.pid());
    sampler_.start();
    auto next_view = Clock::now() + kLivePeriod, next_node = Clock::now() + kNodePeriod;
    while (!program.wait(kPollMilliseconds)) {
      poll(false);
      if (Clock::now() >= next_node) {
        write_node(false);
        next_node += kNodePeriod;
      }
      if (!live_ || Clock::now() < next_view) continue;
      live_->show(recorder_.recent(), sampler_, bundle_);
      next_view = Clock::now() + kLivePeriod;
    }
    poll(true);
    sampler_.stop();
    write_node(true);
    live_.reset();
  }

  void report() const {
    const Health health = recorder_.health();
    for (const auto& entry : health.entries())
      tell(fmt::format("{}: {} {}; {}", entry.source, entry.count, entry.counter->name,
                       entry.counter->remedy));
    if (nodes_dropped_ > 0)
      tell(fmt::format("{}: the oldest {} half hours of the machine's metrics made room", bundle_,
                       nodes_dropped_));
    if (recorder_.steps() == 0) {
      const std::string library = library_folder() + "/libfirstwait_emit.so";
      if (::access(library.c_str(), R_OK) != 0)
        tell(
            fmt::format("no step was seen: {} is missing; install Firstwait as a whole, or name "
                        "its folder in FIRSTWAIT_LIB_DIR",
                        library));
      else
        tell(recorder_.processes() == 0
                 ? "no step was seen: no Python with PyTorch ran, or one that "
                   "ignores PYTHONPATH (-I, -E, -S)"
                 : "no step was seen: no optimizer stepped; firstwait.step() "
                   "in the loop marks steps of other frameworks");
      return;
    }
    report_bundle(bundle_, options_.format, options_.report);
  }

 private:
  void poll(bool last) {
    complain(recorder_.poll(last));
    for (const auto& who : recorder_.identities()) processes_->tell(who.pid, who.rank, who.role);
  }

  // What the machine did since the last call.
  void write_node(bool last) {
    const std::string folder =
        bundle_ + "/node" + (node_parts_ == 0 ? "" : "-" + std::to_string(node_parts_));
    ++node_parts_;
    const Ns from = node_from_;
    node_from_ = sampler_.now();
    std::error_code ignored;
    fs::create_directories(folder, ignored);
    complain(sampler_.write_bundle(folder, from));
    for (const char* name : {"/events.jsonl", "/settings.jsonl"})  // nothing to tell: no file
      if (fs::file_size(folder + name, ignored) == 0) fs::remove(folder + name, ignored);
    if (!last) complain(compress_file(folder + "/metrics.om"));
    uint64_t bytes = 0;
    for (const auto& file : fs::directory_iterator(folder, ignored))
      bytes += file.is_regular_file(ignored) ? file.file_size(ignored) : 0;
    node_bytes_ += bytes;
    nodes_.emplace_back(folder, bytes);
    for (; node_bytes_ > kNodeBytes && nodes_.size() > 1; nodes_.pop_front(), ++nodes_dropped_) {
      fs::remove_all(nodes_.front().first, ignored);
      node_bytes_ -= nodes_.front().second;
    }
  }

  void complain(const Status& written) {
    if (written.ok() || complained_) return;
    complained_ = true;  // once: the program's output is its own
    (void)fail(written.error());
  }

  const RunOptions& options_;
  std::string bundle_, rings_;
  // What the run records is on one clock: setting the machine's in the middle moves nothing.
  const ClockPair clock_ = ClockPair::now();
  Recorder recorder_;
  // Only what descends from the program: another job on this machine is not ours.
  std::shared_ptr<Processes> processes_ = std::make_shared<Processes>(
      Processes::Options{.roots = {}, .commands = {}, .discover = false});
  Sampler sampler_{
      {.world = {.host = this_host(), .processes = processes_},
       .clock = [clock = clock_] { return ClockPair::now().monotonic + clock.to_epoch(); }}};
  std::optional<LiveView> live_;
  Ns node_from_ = kNoTime;
  int node_parts_ = 0, nodes_dropped_ = 0;
  std::deque<std::pair<std::string, uint64_t>> nodes_;  // folders of the parts, their sizes
  uint64_t node_bytes_ = 0;
  bool complained_ = false;
};

}  // namespace

int run_command(const RunOptions& options) {
  const std::string name = options.name.empty() ? name_of(options.command) : options.name;
  const std::string bundle = options.out.empty() ? bundle_folder(name) : options.out;
  auto rings = ring_folder();
  if (!rings) return fail(rings.error());
  auto writer = BundleWriter::open(bundle, name, {});
  if (!writer) {
    std::error_code ignored;
    fs::remove_all(*rings, ignored);
    return fail(writer.error());
  }
  std::optional<Run> run(std::in_place, options, bundle, *rings, std::move(*writer));
  Launch program = Launch::start(options.command, environment_for(*rings));
  if (program.error() != 0) {
    tell(fmt::format("{}: {}", options.command.front(), std::strerror(program.error())));
  } else {
    run->watch(program);
    program.release_signals();
    run->report();
  }
  run.reset();
  program.leave();
}

}  // namespace firstwait
