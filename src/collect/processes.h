// The processes of the training job on this machine: which they are, of which rank, in which role.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "collect/instrument/rings.h"
#include "collect/world.h"

namespace firstwait {

constexpr std::string_view name(ProcessRole r) {
  return r == ProcessRole::trainer ? "trainer" : r == ProcessRole::loader ? "loader" : "other";
}

struct JobProcess {
  int32_t pid = 0, parent = 0;
  int64_t started = 0;  // clock ticks after boot: tells apart processes that had the same pid
  int32_t rank = -1, local_rank = -1, world_size = -1;
  ProcessRole role = ProcessRole::other;
  std::string job;      // as the launcher or scheduler names it; may be empty
  std::string visible;  // CUDA_VISIBLE_DEVICES or its like; may be empty
};

// Looks for the job's processes and remembers what other collectors found out about them.
// Thread-safe.
//
// A process belongs to the job when it descends from a given root, or its command line contains a
// given text, or its environment names a rank as torchrun, Slurm, Open MPI or MPICH do. The topmost
// Python process of a rank is its trainer, its Python children are loader workers, the rest is
// other.
class Processes {
 public:
  struct Options {
    std::vector<int32_t> roots;
    std::vector<std::string> commands;
    bool discover = true;  // by environment
  };
  explicit Processes(Options options) : options_(std::move(options)) {}
  Processes() : Processes(Options{}) {}

  void add_root(int32_t pid);
  // Looks again; what is known to be of no interest is not read again for a while.
  void search(const Root& root);
  std::vector<JobProcess> list() const;  // by pid
  uint64_t generation() const;           // changes when list() or gpu_of() does

  // What instrumented processes say of themselves wins over what was guessed.
  void tell(int32_t pid, int32_t rank, ProcessRole role);
  // GPU index that a process uses, as NVML sees it.
  void set_gpus(std::map<int32_t, std::string> by_pid);
  std::string gpu_of(const JobProcess& p) const;

 private:
  struct Seen {
    JobProcess process;
    std::string command;  // arguments separated by blanks
    std::string comm;
    bool interesting = false, by_rank = false;
  };
  bool read(const Root& root, int32_t pid, Seen& out) const;
  void classify();

  static constexpr size_t kLimit = 1024;  // processes watched
  Options options_;
  mutable std::mutex mutex_;
  std::map<int32_t, Seen> seen_;
  std::map<int32_t, std::pair<int32_t, ProcessRole>> told_;
  std::map<int32_t, std::string> gpus_;
  std::vector<JobProcess> list_;
  uint64_t generation_ = 0, searches_ = 0;
};

// The fields of /proc/PID/stat that are used; false when the line is no such line.
struct ProcessStat {
  std::string_view comm;
  char state = '?';
  int64_t parent = 0, major_faults = 0, user = 0, system = 0, threads = 0, started = 0,
          resident_pages = 0, block_io_ticks = -1;
};
bool parse_stat(std::string_view text, ProcessStat& out);

// The value of a variable in the text of /proc/PID/environ; empty when it is not there.
std::string_view environment_value(std::string_view environ, std::string_view name);

}  // namespace firstwait
