// Turns the events of one Chrome trace into rows: what is a host operation, what a device activity,
// whose rank it is.
#pragma once
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "import/chrome/event_scanner.h"
#include "import/importer.h"
#include "model/trace_names.h"

namespace firstwait {

// Named counters of the trace importer.
struct TraceHealth {
  static const HealthCounter truncated, invalid_event, bad_time, unmatched, duplicate_rank, no_rank,
      no_events;
};

class TraceRows final : public EventHandler {
 public:
  explicit TraceRows(ImportContext context);
  void event(const TraceEvent& event) override;
  void top_level(std::string_view key, std::string_view value) override;
  void invalid(uint64_t offset) override;
  // Everything was read: times become absolute, the rows get their rank and the training thread its
  // lane.
  void finish();
  size_t rows() const { return context_.out.spans.size() - first_span_; }

 private:
  enum class Category : uint8_t {
    none,
    host,
    annotation,
    python,
    runtime,
    kernel,
    copy,
    accelerator,
    unknown
  };
  struct Thread {
    uint32_t id = 0;
    bool is_process = false;  // the process's first thread
    uint64_t ops = 0, steps = 0, optimizers = 0, loaders = 0;
    Ns outer_start = 0, outer_end = -1;  // the last operation kept of those that may be left out
    TraceName outer_class = TraceName::plain;
  };
  struct Name {
    NameId id = kNoName;
    TraceName host = TraceName::plain;
    std::string_view collective;  // of a kernel of this name
    DeviceCopy copy;
  };
  struct Open {
    std::string name;
    Category category;
    Ns start;
  };
  struct CollectiveArgs {
    std::string_view op, group;
    int64_t elements = -1, element_bytes = -1, seq = -1, bytes = -1, external_id = -1;
  };

  static Category category_of(std::string_view cat);
  Category category(const TraceEvent& event);
  void span(const TraceEvent& event, Category category, Ns start, Ns duration);
  void host_span(const TraceEvent& event, Category category, Ns start, Ns duration);
  void device_span(const TraceEvent& event, Category category, Ns start, Ns duration);
  void begin(const TraceEvent& event);
  void end(const TraceEvent& event);
  void metadata(const TraceEvent& event);
  // The operation, in PyTorch's words.
  std::string_view collective(const Name& name, const TraceEvent& event, Ns start, Ns duration,
                              bool on_device);
  CollectiveArgs collective_args(const TraceEvent& event) const;
  const Name& name_of(std::string_view raw);
  Thread& thread_of(std::string_view pid, std::string_view tid);
  int32_t choose_rank();
  void describe_rank(int32_t rank);
  void shift_times();
  void set_lanes();
  void set_collective_steps();

  ImportContext context_;
  size_t first_span_, first_collective_;

  std::unordered_map<uint32_t, Thread> threads_;
  Thread* last_thread_ = nullptr;
  std::vector<Name> names_;  // one per distinct name
  std::unordered_map<NameId, uint32_t> name_index_;
  std::vector<uint32_t> name_cache_;  // by hash of the raw text; index into names_
  std::unordered_map<uint32_t, std::vector<Open>> open_;  // B without E yet, by thread
  size_t open_count_ = 0;
  std::unordered_map<uint32_t, bool> device_process_;  // pids that metadata calls devices
  struct HostCall {
    Ns start = 0;
    NameId group = kNoName;
    int64_t bytes = -1, seq = -1;
  };
  std::unordered_map<int64_t, HostCall> host_calls_;  // record_param_comms by external id
  std::vector<int64_t> collective_external_;          // parallel to the collectives appended here

  int64_t base_ns_ = 0;
  int32_t rank_ = -1, world_size_ = -1;
  std::string host_, backend_, nccl_version_, cuda_version_;
  std::vector<std::pair<int64_t, std::string>> devices_;
  std::unordered_map<uint32_t, uint64_t> device_rows_;  // kernels by hashed device id
  uint64_t bad_times_ = 0, unmatched_ = 0, invalid_ = 0;
  uint64_t first_invalid_ = 0;
};

}  // namespace firstwait
