// Turns what lines of a training log say into step rows: differences of clocks, means over logging
// intervals, restarts, repeated lines, evaluations between steps. One row per (rank, step).
#pragma once
#include <array>
#include <map>
#include <string>
#include <vector>

#include "import/importer.h"

namespace firstwait {

using PhaseTimes = std::array<Ns, kPhases>;  // kNoDuration: not said
constexpr PhaseTimes no_phases() {
  PhaseTimes out{};
  out.fill(kNoDuration);
  return out;
}

// What one line says of one step.
struct LogRecord {
  int32_t rank = -1;              // -1: not said
  int64_t step = -1, total = -1;  // total: of the counter ("5/1695"), -1 unknown
  int32_t epoch = -1;
  Ns time = kNoTime;           // when the line was printed
  bool whole_seconds = false;  // `time` and `cumulative` have a resolution of one second
  Ns duration = kNoDuration;   // of the step, or the mean since the line before when `mean`
  bool mean = false;
  Ns cumulative = kNoDuration;  // a clock that counts training time
  double loss = kNaN, samples = kNaN, tokens = kNaN;
  double samples_per_second = kNaN, tokens_per_second = kNaN;
  PhaseTimes phases = no_phases();
  uint64_t line = 0;
};

// Health of logs, shared by the importers that assemble steps.
inline constexpr HealthCounter kLogNoTiming{
    "no_step_times", Severity::error,
    "the lines name steps but no time; log the step's duration or a timestamp, or name them with "
    "--log-pattern"};
inline constexpr HealthCounter kLogRestart{
    "restarts", Severity::info,
    "the step number went back: the job was resumed; the last attempt's steps are kept"};
inline constexpr HealthCounter kLogRepeated{
    "repeated_steps", Severity::info,
    "a step was logged more than once for one rank; one line each was kept"};
inline constexpr HealthCounter kLogInterleaved{"unlabelled_ranks", Severity::data_loss,
                                               "several processes wrote to this log without saying "
                                               "which; prefix the lines with the rank (torchrun: "
                                               "--log-line-prefix-template, srun: --label)"};
inline constexpr HealthCounter kLogTimerReset{
    "timer_reset", Severity::info,
    "the log's own clock went back at this step, so its duration is unknown"};
inline constexpr HealthCounter kLogFirstUntimed{
    "first_step_untimed", Severity::info,
    "durations are differences between lines, so the first line of each run has none"};
inline constexpr HealthCounter kLogBadNumber{
    "bad_number", Severity::data_loss,
    "a step or a time is no number or out of range and was not used; check the line. Where lines "
    "carry a time of day, the time between them was taken instead"};
inline constexpr HealthCounter kLogPhasesExceed{
    "phases_exceed_step", Severity::info,
    "the timers of this step add up to more than its duration (they are maxima over ranks); they "
    "were not used"};
inline constexpr HealthCounter kLogUnitAssumed{
    "unit_assumed", Severity::info,
    "a duration has no unit and was read as seconds; log it as time_s or time_ms"};
inline constexpr HealthCounter kLogCoarseClock{
    "coarse_clock", Severity::info,
    "the log's clock has whole seconds only; rows are means over ten seconds or more. Log "
    "fractions of a second"};

class StepAssembler {
 public:
  // `rank` is used where a line names none.
  StepAssembler(const ImportContext& context, int32_t rank)
      : context_(context), default_rank_(rank) {}

  void add(const LogRecord& record);
  // Phases of the rank's latest step. `own_step`: the line stands for a step of its own when the
  // latest has its phases already. `part`: one of several micro-steps, to be added up.
  void phases(const LogRecord& record, bool own_step, bool part);
  void evaluation(int32_t rank, int64_t step, Ns time, Ns duration, Ns cumulative = kNoDuration);
  // The clock ran through something that is no training step, named elsewhere.
  void interrupted(int32_t rank) { states_[rank >= 0 ? rank : default_rank_].evaluated = true; }
  void checkpoint(int32_t rank, int64_t step, Ns time, Ns duration);
  // Writes the rows. `what` names the source of the durations for the note ("iterations").
  void finish(std::string_view what);
  size_t rows() const { return rows_.size(); }
  uint64_t records() const { return records_; }

 private:
  struct Row {
    int32_t rank = 0, step = 0, epoch = -1, interval = 1;
    Ns start = kNoTime, duration = kNoDuration;
    StepKind kind = StepKind::train;
    int32_t phases = -1;  // index into phases_
    bool mean = false;
    double loss = kNaN, samples = kNaN, tokens = kNaN;
  };
  struct RankState {
    int64_t step = -1, raw_step = -1, offset = 0, total = -1;
    int32_t epoch = -1;
    Ns time = kNoTime, cumulative = kNoDuration;
    int64_t coarse_step = -1;  // where the running window of a whole-second clock began
    Ns coarse_from = kNoTime;
    int64_t row = -1;  // the latest row, when it belongs to `step`
    bool evaluated = false, saved = false;
    bool timers = false;               // timers were seen of a step that has no row
    bool micro = false;                // the latest row's phases are sums of parts
    PhaseTimes pending = no_phases();  // phases of a step that has no row yet
  };
  int64_t global_step(RankState& state, const LogRecord& record);
  Row* latest(RankState& state) {
    return state.row < 0 ? nullptr : &rows_[static_cast<size_t>(state.row)];
  }
  void merge(RankState& state, const LogRecord& record);
  void measure(RankState& state, const LogRecord& record, int64_t step, Row& row);
  void set_phases(Row& row, const PhaseTimes& phases, bool add);
  void fill_intervals();
  void drop_repeats();
  void append(const Row& row);
  void event(std::string_view kind, int64_t step, Ns time, Ns duration);

  const ImportContext& context_;
  int32_t default_rank_;
  std::vector<Row> rows_;
  std::vector<PhaseTimes> phases_;
  std::map<int32_t, RankState> states_;
  uint64_t records_ = 0, untimed_ = 0, restarts_ = 0;
  std::vector<Event> restart_events_;
};

// The entity that settings and events of a log belong to: the job's id when known, else the name of
// the file.
std::string log_job(const ImportContext& context);

}  // namespace firstwait
