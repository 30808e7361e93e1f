// The state of a running job: the ledger and the present suspicion, a few lines, every few seconds.
#pragma once
#include <deque>
#include <future>
#include <string>

#include "collect/sampler.h"

namespace firstwait {

class LiveView {
 public:
  // `folder` is this object's own. In place: the lines before are overwritten (nobody else writes
  // to the terminal).
  LiveView(std::string folder, bool colour, bool in_place);
  ~LiveView();
  // Analyses `bundle` beside the caller and prints to standard error when it is done. `rows` are
  // the last steps of all ranks, as lines of a steps.jsonl.
  void show(const std::deque<std::string>& rows, const Sampler& sampler, const std::string& bundle);

 private:
  std::string folder_;
  bool colour_, in_place_;
  size_t lines_ = 0;  // printed the last time
  std::future<std::string> next_;
};

}  // namespace firstwait
