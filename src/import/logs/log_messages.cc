#include "import/logs/log_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "import/logs/log_lines.h"

namespace firstwait {
namespace {

constexpr size_t kMaxBars = 256, kMaxMarks = 1 << 20;
constexpr Ns kEnough = int64_t{1} << 60;  // no bar runs longer; sums stop before they overflow

// Progress bars of other work than training.
bool other_work(std::string_view label) {
  constexpr std::array<std::string_view, 14> kWords = {
      "valid", "eval",  "test",    "download", "map",   "filter", "sanity",
      "load",  "token", "generat", "predict",  "fetch", "group",  "shard"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return contains_ignoring_case(label, word); });
}

const LogToken* find(const std::vector<LogToken>& tokens, std::string_view key) {
  for (const auto& t : tokens)
    if (t.key == key) return &t;
  return nullptr;
}

}  // namespace

LogMessages::LogMessages(const ImportContext& context, std::optional<UserPattern> pattern)
    : context_(context),
      pattern_(std::move(pattern)),
      default_rank_(std::max(0, rank_hint(context.path))),
      steps_(context_, default_rank_),
      mllog_(context_, default_rank_),
      nccl_(context_) {}

void LogMessages::line(std::string_view text, uint64_t number, bool terminated) {
  if (const size_t at = text.find(":::MLLOG"); at != std::string_view::npos) {
    const LinePrefix prefix = read_prefix(text.substr(0, at));
    if (!mllog_.line(trim(text.substr(at + 8)), prefix.rank)) {
      context_.count(terminated ? kLogBadMllog : kLogCutLine, 1, fmt::format("line {}", number));
    }
    return;
  }
  if (!terminated) return context_.count(kLogCutLine, 1, fmt::format("line {}", number));
  const LinePrefix prefix = read_prefix(text);
  if (pattern_) {
    bool gave_up = false;
    if (auto record = pattern_->match(text, gave_up)) {
      ++matched_;
      record->line = number;
      if (record->rank < 0) record->rank = prefix.rank;
      if (record->time == kNoTime) {
        record->time = prefix.time;
        if (record->cumulative == kNoDuration) record->whole_seconds = prefix.whole_seconds;
      }
      steps_.add(*record);
    } else if (gave_up) {
      context_.count(kLogPatternGaveUp, 1, fmt::format("line {}", number));
    } else if (!checkpoint(prefix)) {
      nccl_.line(text, prefix.time, number);
    }
    return;
  }
  if (prefix.rest.empty()) return;
  if (contains(text, "NCCL ") && nccl_.line(text, prefix.time, number)) return;
  if (table_) {
    if (table_->row(prefix.rest)) return;
    flush_table();
  }
  if (TimerTable::is_head(prefix.rest)) {
    table_.emplace();
    table_prefix_ = prefix;
    table_prefix_.rest = {};
    return;
  }
  if (const auto timer = read_timers(prefix.rest, tokens_)) return timers(*timer, prefix, number);
  if (checkpoint(prefix)) return;
  if (const auto progress = read_progress_bar(prefix.rest)) return bar(*progress, prefix, number);
  if (summary(prefix)) return;
  key_values(prefix, number);
}

void LogMessages::timers(const TimerLine& timer, const LinePrefix& prefix, uint64_t number) {
  if (timer.checkpoint != kNoDuration)
    steps_.checkpoint(prefix.rank, -1, prefix.time, timer.checkpoint);
  if (timer.evaluation != kNoDuration)
    steps_.evaluation(prefix.rank, -1, prefix.time, timer.evaluation);
  LogRecord record;
  record.rank = prefix.rank;
  record.time = prefix.time;
  record.whole_seconds = prefix.whole_seconds;
  record.phases = timer.phases;
  record.line = number;
  steps_.phases(record, timer.own_step, timer.part);
}

void LogMessages::flush_table() {
  if (const auto timer = table_->finish()) timers(*timer, table_prefix_, 0);
  table_.reset();
}

// "saving checkpoint at iteration 200", "successfully saved checkpoint at iteration 200", "Saving
// model checkpoint to".
bool LogMessages::checkpoint(const LinePrefix& prefix) {
  if (!contains(prefix.rest, "heckpoint")) return false;
  const bool saving = contains_ignoring_case(prefix.rest, "saving checkpoint") ||
                      contains_ignoring_case(prefix.rest, "saving model checkpoint");
  const bool saved = contains_ignoring_case(prefix.rest, "saved checkpoint") ||
                     contains_ignoring_case(prefix.rest, "checkpoint saved");
  if (!saving && !saved) return false;
  int64_t step = -1;
  read_tokens(prefix.rest, tokens_);
  for (const auto& t : tokens_)
    if (step < 0 && (contains(t.key, "iteration") || contains(t.key, "step")))
      step = parse_int(t.number).value_or(-1);
  // Megatron writes both; the second closes what the first began.
  auto& events = context_.out.events;
  if (saved)
    for (size_t i = events.size(); i-- > 0 && events.size() - i < 8;)
      if (events[i].kind == "checkpoint" && events[i].source == context_.path && step >= 0 &&
          events[i].attribute("step") == std::to_string(step) &&
          events[i].attribute("status").empty()) {
        if (prefix.time != kNoTime) events[i].end = prefix.time;
        events[i].attributes.emplace_back("status", "ok");
        return true;
      }
  steps_.checkpoint(prefix.rank, step, prefix.time, kNoDuration);
  return true;
}

// Hugging Face's closing lines: {'train_runtime': 123.4, 'train_steps_per_second': 2.1, …},
// {'eval_runtime': 2.3, …}.
bool LogMessages::summary(const LinePrefix& prefix) {
  const bool train = contains(prefix.rest, "train_runtime"),
             eval = contains(prefix.rest, "eval_runtime");
  if (!train && !eval) return false;
  read_tokens(prefix.rest, tokens_);
  const LogToken* runtime = find(tokens_, train ? "train runtime" : "eval runtime");
  if (runtime == nullptr) return false;
  const Ns duration = parse_scaled_ns(runtime->number, 1'000'000'000).value_or(kNoDuration);
  if (eval) {
    steps_.evaluation(prefix.rank, -1, prefix.time, duration);
    for (auto& [key, track] : bars_)
      if (!track.marks.empty() && track.marks.size() < kMaxMarks)
        track.marks.push_back({-1, -1, kNoDuration});
    return true;
  }
  Event end;
  end.kind = "job_end";
  end.entity = log_job(context_);
  end.start = end.end = prefix.time;
  end.source = context_.path;
  for (const auto& t : tokens_) {
    std::string key = t.key;
    std::replace(key.begin(), key.end(), ' ', '_');
    if (key.rfind("train_", 0) == 0)
      end.attributes.emplace_back(std::move(key), std::string(t.number));
  }
  context_.out.events.push_back(std::move(end));
  return true;
}

void LogMessages::bar(const ProgressBar& progress, const LinePrefix& prefix, uint64_t number) {
  // NeMo and others put the measured step time behind the bar; it is better than the bar's clock.
  if (!progress.postfix.empty() && !other_work(progress.label)) {
    const std::string text =
        fmt::format("step: {}/{}, {}", progress.done, progress.total, progress.postfix);
    if (const auto line = read_key_values(text, tokens_);
        line && line->record.duration != kNoDuration && !line->record.mean) {
      int64_t& last = bar_step_.try_emplace(prefix.rank, -1).first->second;
      if (last == line->record.step) return;  // the same bar, drawn again
      last = line->record.step;
      KeyValueLine copy = *line;
      copy.record.epoch = static_cast<int32_t>(std::clamp<int64_t>(progress.number, -1, 1 << 30));
      return add(copy, prefix, number);
    }
  }
  const auto key = std::pair(prefix.rank, progress.label + "/" + std::to_string(progress.total));
  auto at = bars_.find(key);
  if (at == bars_.end()) {
    if (bars_.size() >= kMaxBars)
      return context_.count(kLogManyBars, 1, fmt::format("line {}", number));
    at = bars_.emplace(key, BarTrack{prefix.rank, progress.label, progress.total, {}}).first;
  }
  auto& marks = at->second.marks;
  if (!marks.empty() && marks.back().elapsed == progress.elapsed &&
      marks.back().number == progress.number)
    return;
  if (marks.size() < kMaxMarks) marks.push_back({progress.done, progress.number, progress.elapsed});
}

// The bar that ran longest is the training; the others measure evaluation or preparation.
void LogMessages::replay_bars() {
  const BarTrack* best = nullptr;
  Ns longest = 0;
  for (const auto& [key, track] : bars_) {
    if (other_work(track.label)) continue;
    Ns total = 0, last = 0;
    for (const auto& m : track.marks) {
      if (m.elapsed == kNoDuration) continue;
      if (m.elapsed > last && total < kEnough) total += m.elapsed - last;
      last = m.elapsed;
    }
    if (total > longest) {
      longest = total;
      best = &track;
    }
  }
  if (best == nullptr) return;
  for (const auto& [key, track] : bars_) {
    if (track.label != best->label || track.total != best->total) continue;
    for (const auto& m : track.marks) {
      if (m.elapsed == kNoDuration) {
        steps_.interrupted(track.rank);
        continue;
      }
      LogRecord record;
      record.rank = track.rank;
      record.step = m.done;
      record.total = track.total;
      record.epoch = static_cast<int32_t>(std::clamp<int64_t>(m.number, -1, 1 << 30));
      record.cumulative = m.elapsed;
      record.whole_seconds = true;
      steps_.add(record);
    }
  }
}

void LogMessages::add(const KeyValueLine& line, const LinePrefix& prefix, uint64_t number) {
  LogRecord record = line.record;
  record.line = number;
  if (record.rank < 0) record.rank = prefix.rank;
  if (record.time == kNoTime) {
    const LinePrefix stamp = prefix.time != kNoTime ? prefix : find_stamp(prefix.rest);
    record.time = stamp.time;
    if (record.cumulative == kNoDuration) record.whole_seconds = stamp.whole_seconds;
  }
  if (line.evaluation)
    return steps_.evaluation(record.rank, record.step, record.time, kNoDuration, record.cumulative);
  if (line.bad_duration) context_.count(kLogBadNumber, 1, fmt::format("line {}", number));
  if (line.unit_assumed) context_.count(kLogUnitAssumed, 1, fmt::format("line {}", number));
  steps_.add(record);
}

void LogMessages::key_values(const LinePrefix& prefix, uint64_t number) {
  const auto line = read_key_values(prefix.rest, tokens_);
  if (!line) {
    ++other_lines_;
    return;
  }
  add(*line, prefix, number);
}

void LogMessages::finish() {
  if (table_) flush_table();
  if (steps_.rows() == 0 && mllog_.blocks() == 0) replay_bars();
  if (pattern_ && matched_ == 0)
    context_.count(kLogPatternUnmatched);
  else if (steps_.records() == 0 && mllog_.blocks() == 0)
    context_.count(kLogNoSteps);
  // MLLOG blocks and step lines tell of the same time: the finer ones count.
  const bool blocks = mllog_.blocks() > steps_.rows();
  if (!blocks) steps_.finish("steps");
  mllog_.finish(blocks);
  if (nccl_.any()) nccl_.finish();
}

}  // namespace firstwait
