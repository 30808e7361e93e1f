// One line of a training log after another: finds out which dialect speaks and hands on what it
// says.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "import/logs/dialects.h"
#include "import/logs/mllog.h"
#include "import/logs/nccl_lines.h"
#include "import/logs/step_assembler.h"
#include "import/logs/user_pattern.h"

namespace firstwait {

inline constexpr HealthCounter kLogCutLine{
    "unterminated_line", Severity::info,
    "the last line has no end and may be cut in a number; it was not used"};
inline constexpr HealthCounter kLogBadMllog{
    "bad_mllog_line", Severity::data_loss,
    "an MLLOG line is no JSON record with key and time_ms; write it again"};
inline constexpr HealthCounter kLogPatternGaveUp{
    "pattern_too_slow", Severity::error,
    "the log pattern needs too many tries on a line; make it simpler"};
inline constexpr HealthCounter kLogPatternUnmatched{
    "pattern_matched_nothing", Severity::error,
    "no line matches the log pattern; try it on one line of the log"};
inline constexpr HealthCounter kLogNoSteps{
    "no_step_lines", Severity::error,
    "no line names a step with a time; log them, or describe the lines with --log-pattern"};
inline constexpr HealthCounter kLogManyBars{
    "too_many_progress_bars", Severity::data_loss,
    "more than 256 different progress bars; only the first were followed"};

class LogMessages {
 public:
  LogMessages(const ImportContext& context, std::optional<UserPattern> pattern);
  void line(std::string_view text, uint64_t number, bool terminated);
  void finish();

 private:
  struct BarMark {
    int64_t done, number;
    Ns elapsed;  // kNoDuration: the clock ran through an evaluation
  };
  struct BarTrack {
    int32_t rank = -1;
    std::string label;
    int64_t total = -1;
    std::vector<BarMark> marks;
  };
  void bar(const ProgressBar& bar, const LinePrefix& prefix, uint64_t number);
  void timers(const TimerLine& timers, const LinePrefix& prefix, uint64_t number);
  bool summary(const LinePrefix& prefix);
  bool checkpoint(const LinePrefix& prefix);
  void key_values(const LinePrefix& prefix, uint64_t number);
  void add(const KeyValueLine& line, const LinePrefix& prefix, uint64_t number);
  void flush_table();
  void replay_bars();

  const ImportContext& context_;
  std::optional<UserPattern> pattern_;
  uint64_t matched_ = 0, other_lines_ = 0;
  int32_t default_rank_;
  StepAssembler steps_;
  MllogReader mllog_;
  NcclLines nccl_;
  std::vector<LogToken> tokens_;
  std::optional<TimerTable> table_;
  LinePrefix table_prefix_;
  std::map<std::pair<int32_t, std::string>, BarTrack> bars_;
  std::map<int32_t, int64_t> bar_step_;
};

}  // namespace firstwait
