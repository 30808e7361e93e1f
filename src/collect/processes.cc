#include "collect/processes.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "collect/file.h"
#include "collect/scan.h"

namespace firstwait {
namespace {

// Names under which launchers pass the rank; the world size beside it where they do.
struct RankNames {
  std::string_view rank, local_rank, world_size;
};
constexpr RankNames kRankNames[] = {
    {"RANK", "LOCAL_RANK", "WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"}};

int32_t number_or_none(std::string_view text) {
  int64_t value = 0;
  return whole_number(text, value) && value >= 0 && value <= INT32_MAX ? static_cast<int32_t>(value)
                                                                       : -1;
}

std::string_view base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Torch names its threads and workers: "pt_main_thread", "pt_data_worker".
bool is_python(std::string_view comm, std::string_view command) {
  return base_name(command.substr(0, command.find(' '))).starts_with("python") ||
         comm.starts_with("python") || comm.starts_with("pt_");
}

// Python children that load nothing.
bool is_helper(std::string_view command) {
  return contains(command, "resource_tracker") || contains(command, "semaphore_tracker") ||
         contains(command, "multiprocessing.forkserver") || contains(command, "compile_worker") ||
         contains(command, "tensorboard");
}

}  // namespace

bool parse_stat(std::string_view text, ProcessStat& out) {
  // The name stands in parentheses and may hold any character, parentheses too.
  const size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return false;
  out.comm = text.substr(open + 1, close - open - 1);
  Scan scan(text.substr(close + 1));
  const std::string_view state = scan.word();
  if (state.size() != 1 || !scan.number(out.parent)) return false;
  out.state = state[0];
  // Fields by their number in proc(5): 12 major faults, 14 and 15 times, 20 threads, 22 start, 24
  // resident, 42 block I/O.
  if (!scan.skip(7) || !scan.number(out.major_faults) || !scan.skip(1) || !scan.number(out.user) ||
      !scan.number(out.system) || !scan.skip(4) || !scan.number(out.threads) || !scan.skip(1) ||
      !scan.number(out.started) || !scan.skip(1) || !scan.number(out.resident_pages))
    return false;
  if (!scan.skip(17) || !scan.number(out.block_io_ticks)) out.block_io_ticks = -1;
  return true;
}

std::string_view environment_value(std::string_view environ, std::string_view name) {
  for (size_t at = 0; at < environ.size();) {
    const size_t end = std::min(environ.find('\0', at), environ.size());
    const std::string_view entry = environ.substr(at, end - at);
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
    at = end + 1;
  }
  return {};
}

void Processes::add_root(int32_t pid) {
  const std::lock_guard lock(mutex_);
  options_.roots.push_back(pid);
  seen_.clear();
}

bool Processes::read(const Root& root, int32_t pid, Seen& out) const {
  const std::string at = root.proc + "/" + std::to_string(pid);
  const auto stat = read_whole(at + "/stat", 4096);
  ProcessStat s;
  if (!stat || !parse_stat(*stat, s)) return false;
  out.process.pid = pid;
  out.process.parent = static_cast<int32_t>(std::clamp<int64_t>(s.parent, 0, INT32_MAX));
  out.process.started = s.started;
  out.comm = s.comm;
  if (s.parent == 2 || s.resident_pages == 0) return true;  // the kernel's own, or already dead
  if (const auto command = read_whole(at + "/cmdline", 16 << 10)) {
    out.command = *command;
    std::replace(out.command.begin(), out.command.end(), '\0', ' ');
  }
  for (const std::string& part : options_.commands)
    if (contains(out.command, part)) out.interesting = true;
  if (std::find(options_.roots.begin(), options_.roots.end(), pid) != options_.roots.end())
    out.interesting = true;
  const auto environ = read_whole(at + "/environ", 256 << 10);
  if (!environ) return true;  // another user's: only with CAP_SYS_PTRACE
  for (const RankNames& names : kRankNames) {
    const int32_t rank = number_or_none(environment_value(*environ, names.rank));
    const int32_t size = number_or_none(environment_value(*environ, names.world_size));
    if (rank < 0 || size <= 0) continue;
    out.process.rank = rank;
    out.process.world_size = size;
    out.process.local_rank = number_or_none(environment_value(*environ, names.local_rank));
    out.by_rank = true;
    break;
  }
  if (out.by_rank && options_.discover) out.interesting = true;
  for (const std::string_view key :
       {"FIRSTWAIT_JOB", "SLURM_JOB_NAME", "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID"})
    if (const auto job = environment_value(*environ, key);
        !job.empty() && job != "none" && out.process.job.empty())
      out.process.job = job.substr(0, 200);
  for (const std::string_view key :
       {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"})
    if (const auto devices = environment_value(*environ, key);
        !devices.empty() && out.process.visible.empty())
      out.process.visible = devices.substr(0, 200);
  return true;
}

void Processes::search(const Root& root) {
  const std::lock_guard lock(mutex_);
  constexpr uint64_t kForget = 60;  // searches after which everything is read anew
  if (++searches_ % kForget == 0) seen_.clear();
  std::map<int32_t, Seen> now;
  for (const std::string& name : list_directory(root.proc)) {
    const int32_t pid = number_or_none(name);
    if (pid <= 0) continue;
    auto known = seen_.extract(pid);
    if (!known.empty()) {
      now.insert(std::move(known));
      continue;
    }
    Seen fresh;
    if (read(root, pid, fresh)) now.emplace(pid, std::move(fresh));
  }
  seen_ = std::move(now);
  classify();
}

void Processes::classify() {
  // Descendants of what is interesting are so too. Parents come before children often, but not
  // always.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& [pid, s] : seen_) {
      if (s.interesting) continue;
      const auto parent = seen_.find(s.process.parent);
      if (parent == seen_.end() || !parent->second.interesting) continue;
      s.interesting = changed = true;
    }
  }
  const bool ranks_known = std::any_of(seen_.begin(), seen_.end(), [](const auto& s) {
    return s.second.interesting && s.second.by_rank;
  });
  std::set<int32_t> has_python;  // ranks with a Python process
  for (const auto& [pid, s] : seen_)
    if (s.interesting && is_python(s.comm, s.command)) has_python.insert(s.process.rank);
  std::vector<JobProcess> list;
  for (auto& [pid, s] : seen_) {
    if (!s.interesting || list.size() >= kLimit) continue;
    JobProcess p = s.process;
    const auto up = seen_.find(p.parent);
    const Seen* parent = up != seen_.end() && up->second.interesting ? &up->second : nullptr;
    const bool python = is_python(s.comm, s.command);
    const bool same_rank_parent = parent != nullptr && parent->process.rank == p.rank;
    const bool under_python = same_rank_parent && is_python(parent->comm, parent->command);
    p.role = ProcessRole::other;
    if (is_helper(s.command)) {
    } else if (s.comm == "pt_data_worker" || (python && under_python)) {
      p.role = ProcessRole::loader;
    } else if (ranks_known && !s.by_rank) {
      // torchrun itself, a shell: above the ranks
    } else if (python || (!same_rank_parent && !has_python.contains(p.rank))) {
      p.role = ProcessRole::trainer;
    }
    if (!ranks_known) p.rank = 0;  // one process trains
    if (const auto told = told_.find(pid); told != told_.end()) {
      p.rank = told->second.first >= 0 ? told->second.first : p.rank;
      p.role = told->second.second;
    }
    list.push_back(std::move(p));
  }
  const auto same = [](const JobProcess& a, const JobProcess& b) {
    return a.pid == b.pid && a.started == b.started && a.rank == b.rank && a.role == b.role;
  };
  if (!std::equal(list.begin(), list.end(), list_.begin(), list_.end(), same)) ++generation_;
  list_ = std::move(list);
}

std::vector<JobProcess> Processes::list() const {
  const std::lock_guard lock(mutex_);
  return list_;
}

uint64_t Processes::generation() const {
  const std::lock_guard lock(mutex_);
  return generation_;
}

void Processes::tell(int32_t pid, int32_t rank, ProcessRole role) {
  const std::lock_guard lock(mutex_);
  if (told_.size() > 100'000) told_.clear();
  told_[pid] = {rank, role};
}

void Processes::set_gpus(std::map<int32_t, std::string> by_pid) {
  const std::lock_guard lock(mutex_);
  if (by_pid == gpus_) return;
  gpus_ = std::move(by_pid);
  ++generation_;  // which GPU a rank uses is part of what is known of it
}

std::string Processes::gpu_of(const JobProcess& p) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = gpus_.find(p.pid); found != gpus_.end()) return found->second;
  // What is visible, counted by the local rank; a list of one is this process's own.
  const auto visible = split(p.visible, ',');
  const auto at = visible.size() == 1 ? 0u : static_cast<size_t>(std::max(p.local_rank, 0));
  if (p.visible.empty() || at >= visible.size() || (visible.size() > 1 && p.local_rank < 0))
    return {};
  return number_or_none(visible[at]) >= 0 ? std::string(trim(visible[at])) : std::string();
}

}  // namespace firstwait
