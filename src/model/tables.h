// Evidence in columns. A row is addressed by its index; an absent number is kNoTime, kNoDuration,
// -1 or NaN as said.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "model/names.h"
#include "model/phase.h"

namespace firstwait {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Where a span was recorded.
enum class Lane : uint8_t {
  main_thread,     // the training thread of the rank
  host_thread,     // any other CPU thread of the trainer (autograd, pin-memory, NCCL watchdog ...)
  loader_worker,   // a data-loader worker process or thread
  gpu_compute,     // compute kernels
  gpu_collective,  // communication kernels
  gpu_copy,        // copies and sets on the device's copy engines or streams
  gpu_other        // annotations, synchronisation records, other accelerators' bookkeeping
};

// One operation with start and end. Times of one rank share one clock; see RankInfo::clock_offset.
struct SpanTable {
  std::vector<Ns> start, duration;
  std::vector<int32_t> rank, step;  // step -1: not said by the record
  std::vector<NameId> op;
  std::vector<Phase> phase;  // unexplained: not said by the record
  std::vector<Lane> lane;
  std::vector<uint32_t> thread;  // thread id or stream, hashed to 32 bits
  std::vector<int64_t> bytes;    // -1 unknown

  size_t size() const { return start.size(); }
  size_t append(int32_t row_rank, int32_t row_step, Ns row_start, Ns row_duration, NameId row_op,
                Phase row_phase, Lane row_lane, uint32_t row_thread, int64_t row_bytes = -1) {
    rank.push_back(row_rank);
    step.push_back(row_step);
    start.push_back(row_start);
    duration.push_back(row_duration);
    op.push_back(row_op);
    phase.push_back(row_phase);
    lane.push_back(row_lane);
    thread.push_back(row_thread);
    bytes.push_back(row_bytes);
    return start.size() - 1;
  }
};

// One rank's part in one collective or point-to-point operation.
struct CollectiveTable {
  std::vector<int32_t> rank, step;
  std::vector<NameId> group,
      op;  // op in PyTorch's words: all_reduce, all_gather, reduce_scatter, broadcast, send ...
  std::vector<int64_t> seq;  // order within the group; -1 unknown
  std::vector<Ns> start, duration;
  std::vector<int64_t> bytes;  // -1 unknown
  std::vector<uint8_t>
      on_device;  // 1: the times are the kernel's own, not the host's or a plugin's

  size_t size() const { return start.size(); }
  size_t append(int32_t row_rank, int32_t row_step, NameId row_group, NameId row_op,
                int64_t row_seq, Ns row_start, Ns row_duration, int64_t row_bytes,
                bool row_on_device) {
    rank.push_back(row_rank);
    step.push_back(row_step);
    group.push_back(row_group);
    op.push_back(row_op);
    seq.push_back(row_seq);
    start.push_back(row_start);
    duration.push_back(row_duration);
    bytes.push_back(row_bytes);
    on_device.push_back(row_on_device ? 1 : 0);
    return start.size() - 1;
  }
};

// Op-level records of pipeline-parallel jobs, as the what-if replay wants them (float32 seconds
// relative to the step).
struct OpTable {
  std::vector<int32_t> dp_rank, stage, rank, step;
  std::vector<NameId> optype;
  std::vector<float> start, duration;                                     // seconds
  std::vector<int32_t> seq, model_chunk, global_model_chunk, microbatch;  // -1: does not apply
  size_t size() const { return start.size(); }
};

enum class StepKind : uint8_t { train, evaluation, checkpoint, warmup };
inline constexpr std::array<std::string_view, 4> kStepKindNames = {"train", "evaluation",
                                                                   "checkpoint", "warmup"};

// One row per (rank, step). Optional columns are empty until a row sets them, then as long as the
// table.
struct StepTable {
  std::vector<NameId> job;
  std::vector<int32_t> rank, step;
  std::vector<Ns> start;     // kNoTime: unknown
  std::vector<Ns> duration;  // always known
  std::vector<StepKind> kind;
  std::vector<int32_t> epoch;                   // -1 unknown
  std::array<std::vector<Ns>, kPhases> phases;  // kNoDuration: not recorded
  std::array<std::vector<Ns>, kLoaderWorks>
      loader;  // summed over the workers; kNoDuration: not recorded
  std::vector<double> loader_workers, loader_queued;  // NaN unknown
  std::vector<double> samples, tokens, bytes, loss;   // NaN unknown

  size_t size() const { return duration.size(); }
  size_t append(NameId row_job, int32_t row_rank, int32_t row_step, Ns row_start, Ns row_duration);
  void set_phase(size_t row, Phase p, Ns value) { set(phases[index(p)], row, value, kNoDuration); }
  void set_loader(size_t row, LoaderWork w, Ns value) {
    set(loader[index(w)], row, value, kNoDuration);
  }
  void set_number(std::vector<double>& column, size_t row, double value) {
    set(column, row, value, kNaN);
  }
  Ns phase(size_t row, Phase p) const { return get(phases[index(p)], row, kNoDuration); }
  Ns loader_time(size_t row, LoaderWork w) const { return get(loader[index(w)], row, kNoDuration); }
  static double number(const std::vector<double>& column, size_t row) {
    return get(column, row, kNaN);
  }

 private:
  template <typename T>
  void set(std::vector<T>& column, size_t row, T value, T absent) {
    if (column.size() < size()) column.resize(size(), absent);
    column[row] = value;
  }
  template <typename T>
  static T get(const std::vector<T>& column, size_t row, T absent) {
    return row < column.size() ? column[row] : absent;
  }
};

// One metric of one entity with one label set: raw values as exported, in time order after align.
struct Series {
  NameId metric = kNoName;
  NameId entity = kNoName;                        // "host/node01", "gpu/node01:2", ...
  std::vector<std::pair<NameId, NameId>> labels;  // the other labels, sorted by name
  std::vector<Ns> time;
  std::vector<double> value;
  NameId label(NameId key) const {
    for (const auto& [k, v] : labels)
      if (k == key) return v;
    return kNoName;
  }
};

// Something that happened at a time, or during one.
struct Event {
  std::string kind;    // FORMATS section 2 lists the kinds
  std::string entity;  // "job/resnet-17"
  Ns start = kNoTime, end = kNoTime;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string source;  // the file
  std::string_view attribute(std::string_view key) const {
    for (const auto& [k, v] : attributes)
      if (k == key) return v;
    return {};
  }
};

// A start-up fact.
struct Setting {
  std::string entity, key, value, source;
  Ns time = kNoTime;  // when it was read; a later row for the same key is a change
};

struct Entity {
  std::string id;  // "host/node01"
  std::vector<std::pair<std::string, std::string>> attributes;
};

struct Relation {
  std::string from, kind, to, source;
  Ns valid_from = kNoTime, valid_to = kNoTime;
};

// What is known of a rank.
struct RankInfo {
  int32_t rank = 0;
  std::string host, gpu, source;  // gpu: "node07:2"; source: the file that told
  int32_t local_rank = -1, stage = -1, dp_rank = -1;
  bool relative_time = false;  // times do not count from the Unix epoch
  Ns clock_offset = 0;         // to be added to this rank's times; set by align
  Ns clock_uncertainty = 0;    // half width, set by align
};

struct JobInfo {
  std::string id, project, owner, framework;
  int32_t world_size = -1;
  int32_t dp = -1, tp = -1, pp = -1, cp = -1, ep = -1, vpp = -1;
  bool unitless =
      false;  // the source gives step times as relative numbers: one of them is kept as one second
};

// A collective that not all members reached (from flight recorders).
struct MissingRanks {
  std::string group, group_name, op, size, dtype;
  int64_t seq = -1;
  std::vector<int32_t> missing, present;
  std::vector<int32_t>
      no_data;  // members whose record is not among the inputs: neither missing nor present
  std::vector<int32_t>
      device_behind;  // members whose device has not finished what others of the group finished
  int64_t consequences = 0;  // further collectives that stand still only because of this one
};

// What the flight recorders of the ranks hold: one row per recorded operation, in each rank's order
// of enqueueing.
struct FlightTable {
  std::vector<int32_t> rank, group;      // group: index into Evidence::flight_groups
  std::vector<int64_t> record;           // the recorder's own running number; -1 unknown
  std::vector<int64_t> seq;              // collective sequence number within the group
  std::vector<NameId> op, shape, dtype;  // "nccl:all_to_all", "4027x5120", "BFloat16"
  std::vector<uint8_t> completed, p2p;
  std::vector<Ns> created;  // kNoTime unknown

  size_t size() const { return rank.size(); }
};

// One process group as the recorders name it.
struct FlightGroup {
  std::string name, description;  // "74", "EXPERT_MODEL_PARALLEL_GROUP"
  std::vector<int32_t> members;   // ascending; empty: not recorded
};

// How far one rank came in one group, as its recorder counted.
struct FlightStatus {
  int32_t rank = -1, group = -1;
  int64_t last_enqueued = -1, last_completed = -1;
};

}  // namespace firstwait
