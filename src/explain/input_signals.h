// What the input side of a job may use and does use: CPUs allowed and burnt, loader workers and
// their work.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "explain/weigh.h"

namespace firstwait {

// CPUs of one host, or of one rank or process that has a limit of its own.
struct CpuRoom {
  std::string entity;       // "rank/3", "host/node07"
  std::string host;         // "host/node07"; may be empty
  double host_cpus = kNaN;  // CPUs of the host
  double allowed = kNaN;  // the smallest of affinity mask, cpuset, quota and scheduler's grant; the
                          // host's without any
  std::string limit;      // "cpu.affinity"; empty: nothing confines it
  std::string limit_value;  // "0-3"
  std::set<int32_t> ranks;  // of a rank's room: those that share its set of CPUs, itself included
  Reading used;             // CPUs the job's processes burn; now is NaN when unknown
  Reading host_busy;        // CPUs of the host that are busy, whoever uses them
  Reading waiting;          // share of time in which some task waits for a CPU (PSI)
  bool confined() const { return !limit.empty() && (!(host_cpus > 0) || allowed < host_cpus); }
};
std::vector<CpuRoom> cpu_rooms(const View& view);

// Loader workers over the current window, of the ranks that carry the input wait; NaN unknown.
struct LoaderFacts {
  double workers = kNaN;        // per rank
  double busy = kNaN;           // work / (workers x step time)
  double queued = kNaN;         // batches ready when the training thread asks
  double reading_share = kNaN;  // fetch, of all the work
  double preparing_share = kNaN;
  double work_s = kNaN;  // per step and rank
};
LoaderFacts loader_facts(const View& view);
// Contradicts a shortage of CPU as the reason of an input wait when the workers are in reads most
// of their time: there they neither run nor wait for a CPU.
void weigh_blocked_workers(Weighing& w, const View& view, const Stake& stake);
// loader.num_workers: from settings, steps or traces; nothing when unknown or not the same
// everywhere.
std::optional<double> loader_workers(const View& view);
// The job's own threads, when there are at least twice as many as before the onset.
std::optional<Reading> more_threads(const View& view);

// Ranks per host, at least 1.
double ranks_on(const View& view, std::string_view host_entity);
// Sum of all readings; NaN when there are none. `before` is known only if it is known of all.
Reading total_reading(const std::vector<Reading>& readings);
bool known_now(const Reading& r);

}  // namespace firstwait
