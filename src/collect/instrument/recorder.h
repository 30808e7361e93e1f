// Empties the rings of all processes of a run into an evidence bundle.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collect/instrument/bundle_writer.h"
#include "collect/instrument/rings.h"
#include "collect/instrument/steps.h"
#include "model/health.h"

namespace firstwait {

class Recorder {
 public:
  // `rings`: the folder in which the processes make theirs (FIRSTWAIT_DIR).
  // `clock`: from which all times are counted, whatever becomes of the wall clock.
  Recorder(std::string rings, BundleWriter writer, ClockPair clock = ClockPair::now());
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Looks for new rings and takes what was written since the last call. With `last`, no process
  // runs any more.
  Status poll(bool last = false);

  // Who the processes are that report now, their ranks found; loaders have that of their trainer.
  std::vector<RingIdentity> identities() const;
  // The last steps of all ranks, as lines of a steps.jsonl.
  const std::deque<std::string>& recent() const { return recent_; }
  size_t steps() const { return steps_; }
  size_t trainers() const { return trainers_; }  // ranks that have ended a step
  size_t processes() const { return seen_; }     // that made a ring
  // What was lost on the way.
  Health health() const;

 private:
  struct Process;
  void find_rings();
  void drain(Process& p, Ns now, bool last);
  void add_mount(Process& p, const RingSetting& path);
  void take_record(Process& p, const RingRecord& record);
  void take_steps(Process& p, Ns until);
  void leave_open_spans(Process& p, Ns at);
  void write_spans(Process& p);
  void forget_finished();
  int32_t rank_of(Process& p);
  Process* trainer_of(const Process& loader) const;

  std::string rings_;
  ClockPair clock_;
  BundleWriter writer_;
  std::map<std::string, std::unique_ptr<Process>> processes_;  // by file name
  std::map<int32_t, int32_t> ranks_;                           // rank -> process
  size_t steps_ = 0, trainers_ = 0, seen_ = 0;
  std::deque<std::string> recent_;
  Health health_;
};

}  // namespace firstwait
