#include "import/logs/step_assembler.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "import/logs/log_lines.h"

namespace firstwait {

namespace {

constexpr Ns kLongestStep =
    10'000'000'000'000'000;  // 115 days: sums of many stay far from the limit of int64
constexpr Ns kCoarseWindow = 10'000'000'000;  // one second of 10 is at most 10 % off

bool plausible(Ns duration) { return duration > 0 && duration <= kLongestStep; }

double per_step(double rate, Ns duration) { return rate * static_cast<double>(duration) / 1e9; }

}  // namespace

std::string log_job(const ImportContext& context) {
  return "job/" + (context.out.job.id.empty() ? file_stem(context.path) : context.out.job.id);
}

// Counters that begin again with each epoch are laid end to end.
int64_t StepAssembler::global_step(RankState& state, const LogRecord& record) {
  if (record.epoch > state.epoch && state.epoch >= 0 && record.step <= state.raw_step)
    state.offset +=
        state.total > 0 && state.total >= state.raw_step ? state.total : state.raw_step + 1;
  return record.step + state.offset;
}

void StepAssembler::set_phases(Row& row, const PhaseTimes& phases, bool add) {
  if (row.phases < 0) {
    row.phases = static_cast<int32_t>(phases_.size());
    phases_.push_back(phases);
    return;
  }
  auto& target = phases_[static_cast<size_t>(row.phases)];
  for (size_t i = 0; i < kPhases; ++i) {
    if (phases[i] == kNoDuration) continue;
    target[i] =
        add && target[i] != kNoDuration ? std::min(target[i] + phases[i], kLongestStep) : phases[i];
  }
}

void StepAssembler::merge(RankState& state, const LogRecord& record) {
  Row* row = latest(state);
  if (row == nullptr) return;
  if (row->duration == kNoDuration && plausible(record.duration)) {
    row->duration = record.duration;
    row->mean = record.mean;
  } else if (record.duration != kNoDuration) {
    context_.count(kLogRepeated, 1, fmt::format("line {}", record.line));
    return;
  }
  if (std::isnan(row->loss)) row->loss = record.loss;
  if (std::isnan(row->samples))
    row->samples = std::isnan(record.samples) ? per_step(record.samples_per_second, row->duration)
                                              : record.samples;
  if (std::isnan(row->tokens))
    row->tokens = std::isnan(record.tokens) ? per_step(record.tokens_per_second, row->duration)
                                            : record.tokens;
}

// The row's duration from the best clock that the record carries.
void StepAssembler::measure(RankState& state, const LogRecord& record, int64_t step, Row& row) {
  const int64_t steps = state.step >= 0 && step > state.step ? step - state.step : 0;
  row.interval = steps > 0 ? static_cast<int32_t>(std::min<int64_t>(steps, INT32_MAX)) : 1;
  if (record.duration != kNoDuration) {
    if (!plausible(record.duration))
      return context_.count(kLogBadNumber, 1, fmt::format("line {}", record.line));
    row.duration = record.duration;
    row.mean = record.mean;
    if (!record.mean)
      row.interval = 1;
    else if (steps == 0)
      row.interval = 0;  // filled in later
    if (record.time != kNoTime) row.start = record.time - record.duration;
    return;
  }
  const bool counts = record.cumulative != kNoDuration;
  const Ns now = counts ? record.cumulative : record.time;
  const Ns before = counts ? state.cumulative : state.time;
  if (now == (counts ? kNoDuration : kNoTime)) {
    ++untimed_;
    return;
  }
  if (before == (counts ? kNoDuration : kNoTime) || steps == 0) {
    state.coarse_step = step;
    state.coarse_from = now;
    context_.count(kLogFirstUntimed, 1, fmt::format("line {}", record.line));
    return;
  }
  if (now < before) {
    state.coarse_step = step;
    state.coarse_from = now;
    context_.count(kLogTimerReset, 1, fmt::format("line {}", record.line));
    return;
  }
  Ns from = before;
  int64_t over = steps;
  if (record.whole_seconds) {
    if (state.coarse_step < 0 || state.evaluated || state.saved) {
      state.coarse_step = step;
      state.coarse_from = now;
      state.evaluated = state.saved = false;
      return;
    }
    if (now - state.coarse_from < kCoarseWindow) return;
    from = state.coarse_from;
    over = step - state.coarse_step;
    state.coarse_step = step;
    state.coarse_from = now;
    context_.count(kLogCoarseClock, 1, fmt::format("line {}", record.line));
  }
  const Ns mean = (now - from) / std::max<int64_t>(over, 1);
  if (mean > kLongestStep)
    return context_.count(kLogBadNumber, 1, fmt::format("line {}", record.line));
  if (mean == 0) return context_.count(kLogCoarseClock, 1, fmt::format("line {}", record.line));
  row.duration = mean;
  row.interval = static_cast<int32_t>(std::min<int64_t>(over, INT32_MAX));
  row.mean = over > 1;
  if (!counts) row.start = now - mean;
}

void StepAssembler::add(const LogRecord& record) {
  ++records_;
  const int32_t rank = record.rank >= 0 ? record.rank : default_rank_;
  RankState& state = states_[rank];
  if (record.step < 0 || record.step > INT32_MAX / 2)
    return context_.count(kLogBadNumber, 1, fmt::format("line {}", record.line));
  const int64_t step = global_step(state, record);
  if (step > INT32_MAX)
    return context_.count(kLogBadNumber, 1, fmt::format("line {}", record.line));
  if (step == state.step) {
    merge(state, record);
    if (state.row < 0 && plausible(record.duration))
      state.step = step - 1;  // the first line had no time: this one has
    else
      return;
  }
  if (step < state.step) {
    ++restarts_;
    Event restart;
    restart.kind = "restart";
    restart.entity = log_job(context_);
    restart.start = record.time;
    restart.source = context_.path;
    restart.attributes = {{"from_step", std::to_string(state.step)},
                          {"to_step", std::to_string(step)}};
    if (restart_events_.size() < 1000) restart_events_.push_back(std::move(restart));
    const int64_t offset = state.offset;
    state = RankState{};
    state.offset = offset;
  }
  Row row;
  row.rank = rank;
  row.step = static_cast<int32_t>(step);
  row.epoch = record.epoch;
  measure(state, record, step, row);
  state.row = -1;
  state.micro = state.timers = false;
  if (row.duration != kNoDuration) {
    row.loss = record.loss;
    row.samples = std::isnan(record.samples) ? per_step(record.samples_per_second, row.duration)
                                             : record.samples;
    row.tokens = std::isnan(record.tokens) ? per_step(record.tokens_per_second, row.duration)
                                           : record.tokens;
    if (state.saved) row.kind = StepKind::checkpoint;
    if (state.evaluated) row.kind = StepKind::evaluation;
    state.saved = state.evaluated = false;
    state.row = static_cast<int64_t>(rows_.size());
    rows_.push_back(row);
    bool any = false;
    for (const Ns t : record.phases) any = any || t != kNoDuration;
    if (any) set_phases(rows_.back(), record.phases, false);
  }
  state.step = step;
  state.raw_step = record.step;
  state.total = record.total;
  state.epoch = std::max(state.epoch, record.epoch);
  if (record.time != kNoTime) state.time = record.time;
  if (record.cumulative != kNoDuration) state.cumulative = record.cumulative;
}

void StepAssembler::phases(const LogRecord& record, bool own_step, bool part) {
  const int32_t rank = record.rank >= 0 ? record.rank : default_rank_;
  RankState& state = states_[rank];
  Row* row = latest(state);
  const bool taken = row != nullptr && row->phases >= 0 && !part && !state.micro;
  if (row != nullptr && !taken) {
    if (!part && state.micro) row->phases = -1;
    set_phases(*row, record.phases, part);
    state.micro = part;
    return;
  }
  if (!own_step || part) return;
  LogRecord step = record;
  step.step = state.raw_step + 1;
  if (row == nullptr && state.raw_step >= 0 &&
      !state.timers) {  // the step's own line had no duration
    state.timers = true;
    if (record.time != kNoTime)
      return;  // lines have times: this step began before the first of them
    step.step = state.raw_step;
    state.step = state.step - 1;
    state.raw_step = state.raw_step - 1;
  }
  if (step.time == kNoTime && step.duration == kNoDuration) {
    step.duration = 0;
    for (const Ns t : record.phases)
      if (t != kNoDuration) step.duration = std::min(step.duration + t, kLongestStep);
  }
  add(step);
}

void StepAssembler::event(std::string_view kind, int64_t step, Ns time, Ns duration) {
  Event e;
  e.kind = kind;
  e.entity = log_job(context_);
  e.source = context_.path;
  if (time != kNoTime) {
    e.end = time;
    e.start = plausible(duration) ? time - duration : time;
  }
  if (step >= 0) e.attributes.emplace_back("step", std::to_string(step));
  if (plausible(duration))
    e.attributes.emplace_back("duration_s",
                              fmt::format("{:.6f}", static_cast<double>(duration) / 1e9));
  context_.out.events.push_back(std::move(e));
}

void StepAssembler::evaluation(int32_t rank, int64_t step, Ns time, Ns duration, Ns cumulative) {
  event("evaluation", step, time, duration);
  RankState& state = states_[rank >= 0 ? rank : default_rank_];
  state.evaluated = true;
  if (state.step < 0 && step >= 0 && step <= INT32_MAX &&
      cumulative != kNoDuration) {  // the clock's first reading
    state.step = state.raw_step = step;
    state.cumulative = cumulative;
  }
}

void StepAssembler::checkpoint(int32_t rank, int64_t step, Ns time, Ns duration) {
  event("checkpoint", step, time, duration);
  states_[rank >= 0 ? rank : default_rank_].saved = true;
}

// The first mean of a run covers an interval that only the lines behind it tell.
void StepAssembler::fill_intervals() {
  std::unordered_map<int32_t, int32_t> next;
  for (size_t i = rows_.size(); i-- > 0;) {
    Row& row = rows_[i];
    int32_t& typical = next[row.rank];
    if (row.interval == 0) row.interval = std::max(1, std::min(typical, row.step));
    typical = row.interval;
  }
}

void StepAssembler::drop_repeats() {
  const bool interleaved = restarts_ > 2 && restarts_ * 10 > records_;
  if (interleaved)
    context_.count(kLogInterleaved, restarts_);
  else if (restarts_ > 0)
    context_.count(kLogRestart, restarts_);
  if (restarts_ == 0) return;
  // Of two attempts at a step the later one made the progress; of interleaved lines none is better:
  // keep the first.
  std::unordered_map<uint64_t, size_t> kept;
  std::vector<uint8_t> drop(rows_.size(), 0);
  uint64_t dropped = 0;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const uint64_t key = static_cast<uint64_t>(static_cast<uint32_t>(rows_[i].rank)) << 32 |
                         static_cast<uint32_t>(rows_[i].step);
    const auto [at, fresh] = kept.try_emplace(key, i);
    if (fresh) continue;
    ++dropped;
    drop[interleaved ? i : at->second] = 1;
    if (!interleaved) at->second = i;
  }
  if (dropped > 0) context_.count(kLogRepeated, dropped);
  size_t to = 0;
  for (size_t i = 0; i < rows_.size(); ++i)
    if (drop[i] == 0) rows_[to++] = rows_[i];
  rows_.resize(to);
  if (!interleaved)
    for (auto& e : restart_events_) context_.out.events.push_back(std::move(e));
}

void StepAssembler::append(const Row& row) {
  auto& steps = context_.out.steps;
  const size_t i = steps.append(kNoName, row.rank, row.step, row.start, row.duration);
  steps.kind[i] = row.kind;
  steps.epoch[i] = row.epoch;
  if (!std::isnan(row.loss)) steps.set_number(steps.loss, i, row.loss);
  if (!std::isnan(row.samples)) steps.set_number(steps.samples, i, row.samples);
  if (!std::isnan(row.tokens)) steps.set_number(steps.tokens, i, row.tokens);
  if (row.phases < 0) return;
  const auto& phases = phases_[static_cast<size_t>(row.phases)];
  Ns sum = 0;
  for (const Ns t : phases)
    if (t != kNoDuration) sum = std::min(sum + t, kLongestStep * 2);
  if (sum > row.duration)
    return context_.count(kLogPhasesExceed, 1, fmt::format("step {}", row.step));
  for (size_t p = 0; p < kPhases; ++p)
    if (phases[p] != kNoDuration) steps.set_phase(i, static_cast<Phase>(p), phases[p]);
}

void StepAssembler::finish(std::string_view what) {
  fill_intervals();
  drop_repeats();
  size_t marked = 0, means = 0;
  std::map<int32_t, size_t> ranks, intervals;
  for (const Row& row : rows_) {
    marked += row.kind == StepKind::train ? 0 : 1;
    means += row.mean ? 1 : 0;
    ++ranks[row.rank];
    ++intervals[row.interval];
  }
  // Where every other step meets an evaluation, that is how this job trains.
  const bool usual = marked * 2 > rows_.size();
  for (Row& row : rows_) {
    if (usual) row.kind = StepKind::train;
    append(row);
    context_.out.rank(row.rank);
  }
  if (untimed_ > 0 && rows_.empty()) context_.count(kLogNoTiming, untimed_);
  if (rows_.empty()) return;
  std::string note = fmt::format("{} {} of {} rank{}", rows_.size(), what, ranks.size(),
                                 ranks.size() == 1 ? "" : "s");
  if (means * 2 > rows_.size()) {
    const auto common =
        std::max_element(intervals.begin(), intervals.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    context_.out.settings.push_back({log_job(context_), "log.interval_steps",
                                     std::to_string(common->first), context_.path, kNoTime});
    note += fmt::format("; each a mean over {} steps", common->first);
  }
  context_.note(std::move(note));
}

}  // namespace firstwait
