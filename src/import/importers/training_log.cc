// Console logs of training jobs, in the dialects of src/import/logs.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "import/logs/log_lines.h"
#include "import/logs/log_messages.h"

namespace firstwait {
namespace {

constexpr HealthCounter kTooLong{"line_too_long", Severity::data_loss,
                                 "a line is longer than 64 KiB; split it"};
constexpr HealthCounter kBadPattern{
    "bad_log_pattern", Severity::error,
    "--log-pattern must be a regular expression with a group (?<step>…) and one of "
    "(?<duration_ms>…), (?<elapsed_s>…), (?<time>…)"};
constexpr HealthCounter kHealth[] = {
    kTooLong,          kBadPattern,          kLogCutLine,   kLogBadMllog,
    kLogPatternGaveUp, kLogPatternUnmatched, kLogNoSteps,   kLogManyBars,
    kLogNoTiming,      kLogRestart,          kLogRepeated,  kLogInterleaved,
    kLogTimerReset,    kLogFirstUntimed,     kLogBadNumber, kLogPhasesExceed,
    kLogUnitAssumed,   kLogCoarseClock,      kNcclWarnings, kNcclUnreadable};

// What of a log can be told from its first lines.
struct Census {
  int timed = 0, untimed = 0, bars = 0, prefixed = 0, matched = 0;
};

void take(Census& census, std::string_view raw, const UserPattern* pattern,
          std::vector<LogToken>& tokens) {
  bool gave_up = false;
  if (pattern != nullptr && pattern->match(raw, gave_up)) ++census.matched;
  const LinePrefix prefix = read_prefix(raw);
  if (prefix.time != kNoTime || prefix.rank >= 0) ++census.prefixed;
  if (read_progress_bar(prefix.rest)) {
    ++census.bars;
  } else if (const auto timers = read_timers(prefix.rest, tokens)) {
    ++census.timed;
  } else if (const auto line = read_key_values(prefix.rest, tokens)) {
    const auto& r = line->record;
    const bool timed = r.duration != kNoDuration || r.cumulative != kNoDuration ||
                       r.time != kNoTime || prefix.time != kNoTime ||
                       find_stamp(prefix.rest).time != kNoTime;
    ++(timed ? census.timed : census.untimed);
  }
}

int sniff(const Sniff& s) {
  if (contains(s.head, ":::MLLOG {")) return 95;
  const size_t text = s.head.find_first_not_of(" \t\r\n");
  if (text == std::string_view::npos || s.head.find('\0') != std::string_view::npos) return 0;
  // A JSON document is none; lines of JSON objects are.
  const std::string_view first =
      trim(s.head.substr(text, s.head.find_first_of("\r\n", text) - text));
  if (first.empty()) return 0;  // only a form feed or the like
  const bool json = first.front() == '{';
  if (json && first.back() != '}') return 0;
  if (first.front() == '[' && (first.size() == 1 || first[1] == '{' || first[1] == '[')) return 0;
  if (first.front() == '<') return 0;
  std::optional<UserPattern> pattern;
  if (s.options != nullptr && !s.options->log_pattern.empty())
    if (auto compiled = UserPattern::compile(s.options->log_pattern))
      pattern = std::move(*compiled);
  Census census;
  std::vector<LogToken> tokens;
  std::string clean;
  size_t from = text;
  while (from < s.head.size()) {
    const size_t end = s.head.find_first_of("\r\n", from);
    const std::string_view line = s.head.substr(from, end - from);
    if (!line.empty() && line.size() < 16'384)
      take(census, without_ansi(line, clean), pattern ? &*pattern : nullptr, tokens);
    if (end == std::string_view::npos) break;
    from = end + 1;
  }
  if (census.matched > 0) return 96;
  if (census.timed >= 2) return json ? 50 : 75;
  if (census.timed == 1 || census.bars >= 2) return 45;
  if (census.untimed >= 2) return 30;
  // The steps may begin far behind the start-up noise of a job.
  const bool training = contains(s.head, "torch") || contains(s.head, "CUDA") ||
                        contains(s.head, "rank") || contains(s.head, "RANK") ||
                        contains(s.head, "epoch") || contains(s.head, "Epoch");
  return census.bars + census.untimed > 0 || (census.prefixed >= 3 && training) ? 8 : 0;
}

class TrainingLogReader final : public LogLines {
 public:
  TrainingLogReader(ImportContext context, std::optional<UserPattern> pattern)
      : context_(std::move(context)), messages_(context_, std::move(pattern)) {}

 protected:
  void line(std::string_view text, uint64_t number, bool terminated) override {
    messages_.line(text, number, terminated);
  }
  void end(bool) override { messages_.finish(); }
  void too_long(uint64_t number) override {
    context_.count(kTooLong, 1, fmt::format("line {}", number));
  }

 private:
  ImportContext context_;
  LogMessages messages_;
};

std::unique_ptr<Reader> open(ImportContext context) {
  std::optional<UserPattern> pattern;
  if (!context.options.log_pattern.empty()) {
    auto compiled = UserPattern::compile(context.options.log_pattern);
    if (compiled)
      pattern = std::move(*compiled);
    else
      context.count(kBadPattern, 1, compiled.error().what);
  }
  return std::make_unique<TrainingLogReader>(std::move(context), std::move(pattern));
}

}  // namespace

extern const Importer importer_training_log{
    .name = "training_log",
    .summary = "step times from the console log of a training job",
    .formats =
        "Megatron, DeepSpeed, nanoGPT, MLLOG, Hugging Face, Lightning, torchvision, timm, "
        "mmengine, NeMo, JSON "
        "lines, tqdm; anything else with --log-pattern",
    .health = kHealth,
    .sniff = sniff,
    .open = open};

}  // namespace firstwait
