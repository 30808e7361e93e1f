// How training logs name steps and times. Each function reads one message (the line without its
// prefix).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/logs/log_lines.h"
#include "import/logs/step_assembler.h"

namespace firstwait {

// "step:5/1695 train_time:435ms", "iteration 10/ 1000 | … elapsed time per iteration (ms): 2152.2",
// "iter 100: loss 2.3, time 35.2ms", "Epoch: [0][10/5005] Time 0.31 (0.45) Data 0.00 (0.02)",
// {"step": 3, "dt": 0.2} …
struct KeyValueLine {
  LogRecord record;
  bool evaluation = false;    // a step number with a validation loss and no duration of its own
  bool unit_assumed = false;  // a duration without a unit, read as seconds
  bool bad_duration = false;  // the line gives a duration that is no time ("nan", below zero)
};
std::optional<KeyValueLine> read_key_values(std::string_view text, std::vector<LogToken>& tokens);

// What a timer line says. "time (ms) | forward-compute: 264.79 | …", "time (ms) | fwd: 1.2 |
// bwd: 3.4 | step: 5.6".
struct TimerLine {
  PhaseTimes phases = no_phases();
  bool own_step = false;                                  // DeepSpeed: one such line per step
  bool part = false;                                      // DeepSpeed: a micro-step
  Ns checkpoint = kNoDuration, evaluation = kNoDuration;  // timers of their own
};
std::optional<TimerLine> read_timers(std::string_view text, std::vector<LogToken>& tokens);

// Megatron's table of timers over several lines: a head, then "forward-compute ....: (337.81,
// 340.81)". Of compute the slowest rank counts, of communication the fastest: the rest of a longer
// one is waiting.
class TimerTable {
 public:
  static bool is_head(std::string_view text) {
    return text.find("time across ranks (ms)") != std::string_view::npos;
  }
  bool row(std::string_view text);  // false: not a row of a table
  std::optional<TimerLine> finish();
  void add(std::string_view key, Ns low, Ns high);

 private:
  friend std::optional<TimerLine> read_timers(std::string_view text, std::vector<LogToken>& tokens);
  bool deepspeed(std::string_view key, Ns value);
  Ns forward_ = kNoDuration, backward_ = kNoDuration, inner_ = kNoDuration, reduce_ = kNoDuration;
  Ns optimizer_ = kNoDuration, collective_ = kNoDuration, p2p_ = kNoDuration, batch_ = kNoDuration;
  TimerLine out_;
};

// A progress bar of tqdm or Lightning: "Epoch 0:  10%|█ | 10/100 [00:05<00:45,  2.00it/s,
// loss=2.3]".
struct ProgressBar {
  std::string label;    // "Epoch" without its number; may be empty
  int64_t number = -1;  // of the label: the epoch
  int64_t done = 0, total = -1;
  Ns elapsed = 0;
  std::string_view postfix;  // what stands behind the rate
};
std::optional<ProgressBar> read_progress_bar(std::string_view text);

}  // namespace firstwait
