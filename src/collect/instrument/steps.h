// From the records of one training process to steps with exclusive phases.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collect/instrument/rings.h"

namespace firstwait {

// One span of a process, its names resolved. Phases from 16 on are work of loaders.
struct InstrumentSpan {
  Ns start = 0, end = 0;
  uint8_t phase = 0, lane = 0;
  uint32_t thread = 0;
  std::string op, group;
  int64_t seq = -1, bytes = -1;
  bool open = false;  // begun, and not ended when the program was last seen
};

struct InstrumentCollective {
  std::string group, op;
  int64_t seq = -1, bytes = -1;
  Ns start = 0, duration = 0;
};

struct InstrumentStep {
  int64_t step = -1;
  Ns start = 0, duration = 0;
  bool first = false;                   // of the process: holds its start-up
  std::array<Ns, kPhases> phases;       // exclusive on the training thread; kNoDuration: none
  std::array<Ns, kLoaderWorks> loader;  // kNoDuration: none
  int32_t epoch = -1;
  int64_t samples = -1;
  std::optional<double> queued;  // batches ready when the training thread asked, on average
  std::vector<InstrumentCollective> collectives;
};

// Takes records in any order that ends them in order, as rings give them. Keeps what lies behind
// the last step.
class StepAssembler {
 public:
  explicit StepAssembler(uint32_t training_thread) : thread_(training_thread) {}

  void add(InstrumentSpan span);
  void add_step(int64_t number, int64_t samples, Ns end, uint32_t thread);
  // Work of a loader worker, or of the training thread itself.
  void add_loader_work(uint8_t phase, Ns start, Ns end);

  // The steps that ended by `until`, whose records have all been added.
  std::vector<InstrumentStep> take(Ns until);

 private:
  struct End {
    int64_t number, samples;
    Ns end;
    uint32_t thread;
  };
  struct Work {
    uint8_t phase;
    Ns end, duration;
  };
  InstrumentStep assemble(const End& end);
  void count_epoch(const std::vector<const InstrumentSpan*>& spans, InstrumentStep& step);

  uint32_t thread_;
  std::vector<InstrumentSpan> spans_;  // of the training thread
  std::vector<End> ends_;
  std::vector<Work> work_;
  Ns boundary_ = kNoTime;
  std::map<int64_t, int64_t> iterations_;          // of loaders begun
  std::pair<int64_t, int64_t> iteration_{-1, -1};  // the one that feeds the training
  int32_t epoch_ = -1;
};

}  // namespace firstwait
