#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "import/logs/dialects.h"

namespace firstwait {
namespace {

using Words = std::string_view;

// Best first: a line may name micro-steps and batches beside the optimizer's steps.
constexpr std::array<Words, 10> kStepKeys = {"global step", "iteration", "iter",        "step",
                                             "steps",       "update",    "num updates", "it",
                                             "batch",       "mini batch"};
constexpr std::array<Words, 30> kDurationKeys = {"step time",
                                                 "iter time",
                                                 "iteration time",
                                                 "time per step",
                                                 "time per iteration",
                                                 "batch time",
                                                 "step timing",
                                                 "step duration",
                                                 "time/step",
                                                 "time/iter",
                                                 "time/batch",
                                                 "sec/step",
                                                 "s/step",
                                                 "sec/iter",
                                                 "s/it",
                                                 "ms/step",
                                                 "ms/iter",
                                                 "seconds per step",
                                                 "elapsed time per iteration",
                                                 "step elapsed",
                                                 "iteration elapsed",
                                                 "iter duration",
                                                 "time per batch",
                                                 "sec per step",
                                                 "seconds/step",
                                                 "iteration duration",
                                                 "batch duration",
                                                 "secs/step",
                                                 "train step time",
                                                 "time per global step"};
constexpr std::array<Words, 4> kBareDurationKeys = {"time", "dt", "duration", "took"};
constexpr std::array<Words, 8> kCumulativeKeys = {"train time", "elapsed",      "elapsed time",
                                                  "total time", "wall time",    "time elapsed",
                                                  "wall clock", "training time"};
constexpr std::array<Words, 8> kDataKeys = {
    "data",          "data time",       "data load time", "data loading time",
    "dataload time", "dataloader time", "load time",      "data wait"};
constexpr std::array<Words, 7> kRateKeys = {
    "ups", "steps/s", "steps/sec", "it/s", "iter/s", "steps per second", "iterations per second"};
constexpr std::array<Words, 5> kLossKeys = {"loss", "train loss", "lm loss", "reduced train loss",
                                            "training loss"};
constexpr std::array<Words, 7> kSampleRateKeys = {
    "samples/sec", "samples/s", "samples per second", "currsamplespersec",
    "images/sec",  "imgs/s",    "examples/sec"};
constexpr std::array<Words, 7> kTokenRateKeys = {
    "tok/sec", "tok/s", "tokens/sec", "tokens/s", "tps", "tokens per second", "tokens per sec"};
constexpr std::array<Words, 4> kBatchKeys = {"global batch size", "batch size", "samples per step",
                                             "global bs"};
constexpr std::array<Words, 2> kEpochKeys = {"epoch", "epoch(train)"};
constexpr std::array<Words, 5> kClockKeys = {"timestamp", "ts", "time", "wall time", "unix time"};

template <size_t N>
bool is_one_of(std::string_view key, const std::array<Words, N>& words) {
  return std::find(words.begin(), words.end(), key) != words.end();
}

// The key is one of the words, or ends with one after a blank or a slash ("train/step time").
template <size_t N>
int ends_with_one_of(std::string_view key, const std::array<Words, N>& words) {
  for (size_t i = 0; i < N; ++i) {
    const auto word = words[i];
    if (key.size() < word.size() || key.substr(key.size() - word.size()) != word) continue;
    if (key.size() == word.size()) return static_cast<int>(i);
    const char before = key[key.size() - word.size() - 1];
    if (before == ' ' || before == '/') return static_cast<int>(i);
  }
  return -1;
}

// Takes the unit off a key: "elapsed time per iteration (ms)", "step time ms", "step timing in s".
// 0: none.
int64_t key_unit(std::string_view& key) {
  std::string_view unit;
  size_t cut = 0;
  if (!key.empty() && (key.back() == ')' || key.back() == ']')) {
    const size_t open = key.find_last_of("([");
    if (open == std::string_view::npos) return 0;
    unit = key.substr(open + 1, key.size() - open - 2);
    cut = open;
  } else {
    const size_t blank = key.find_last_of(' ');
    if (blank == std::string_view::npos) return 0;
    unit = key.substr(blank + 1);
    cut = blank;
  }
  const int64_t ns = time_unit_ns(unit);
  if (ns == 0) return 0;
  key = trim(key.substr(0, cut));
  if (key.size() > 3 && key.substr(key.size() - 3) == " in") key.remove_suffix(3);
  return ns;
}

// A whole number, also written "9.0".
int64_t whole(std::string_view number) {
  const size_t dot = number.find('.');
  if (dot != std::string_view::npos) {
    if (number.find_first_not_of('0', dot + 1) != std::string_view::npos) return -1;
    number = number.substr(0, dot);
  }
  return parse_int(number).value_or(-1);
}

struct StepWords {
  int64_t step = -1, total = -1;
  int32_t epoch = -1;
  size_t token = SIZE_MAX;
};

StepWords find_step(const std::vector<LogToken>& tokens) {
  StepWords out;
  int best = INT32_MAX;
  size_t epoch_token = SIZE_MAX;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto& t = tokens[i];
    if (epoch_token == SIZE_MAX && t.unit.empty() &&
        (t.key == "train" || ends_with_one_of(t.key, kEpochKeys) >= 0)) {
      epoch_token = i;
      out.epoch = static_cast<int32_t>(std::clamp<int64_t>(whole(t.number), -1, 1 << 30));
    }
    if (!t.unit.empty() || t.key.empty()) continue;
    if (t.key.size() >= 5 && t.key.compare(0, 5, "micro") == 0) continue;
    const int rank = ends_with_one_of(t.key, kStepKeys);
    if (rank < 0 || rank >= best) continue;
    const int64_t step = whole(t.number);
    if (step < 0) continue;
    best = rank;
    out.step = step;
    out.token = i;
  }
  // "Epoch: [0][10/5005]", "Train: 0 [  50/1251 (4%)]": the batch within the epoch has no key.
  if (out.step < 0 && epoch_token != SIZE_MAX && epoch_token + 2 < tokens.size()) {
    const auto& batch = tokens[epoch_token + 1];
    if (batch.key.empty() && !batch.after_slash && tokens[epoch_token + 2].after_slash) {
      out.step = whole(batch.number);
      out.token = epoch_token + 1;
    }
  }
  if (out.token != SIZE_MAX && out.token + 1 < tokens.size() && tokens[out.token + 1].after_slash)
    out.total = whole(tokens[out.token + 1].number);
  return out;
}

// "iteration time (ms): nan", "step_time=-inf": such a value is no token.
bool tells_no_number(std::string_view text) {
  for (const std::string_view value : {"nan", "inf", "-inf", "NaN", "-nan", "Infinity"})
    for (size_t at = text.find(value); at != std::string_view::npos;
         at = text.find(value, at + value.size())) {
      std::string_view key = text.substr(0, at);
      const size_t end = key.find_last_not_of(" \t\"");
      if (end == std::string_view::npos || (key[end] != ':' && key[end] != '=')) continue;
      key = key.substr(0, key.find_last_not_of(" \t\"", end == 0 ? 0 : end - 1) + 1);
      const size_t begin = key.find_last_of("|,;{");
      std::string name =
          to_lower(trim(key.substr(begin == std::string_view::npos ? 0 : begin + 1)));
      std::replace(name.begin(), name.end(), '_', ' ');
      std::erase(name, '"');
      std::string_view bare = trim(name);
      key_unit(bare);
      if (ends_with_one_of(bare, kDurationKeys) >= 0) return true;
    }
  return false;
}

Ns scaled(const LogToken& token, int64_t unit) {
  const auto value = parse_scaled_ns(token.number, unit);
  return value && *value >= 0 ? *value : kNoDuration;
}

class Line {
 public:
  explicit Line(std::string_view text) : text_(text) {}

  void token(const LogToken& t) {
    std::string_view key = t.key;
    const int64_t in_key = key_unit(key);
    const int64_t unit = in_key != 0 ? in_key : time_unit_ns(t.unit);
    if (clock(t, key)) return;
    if (t.unit == "it/s" || t.unit == "it" || is_one_of(key, kRateKeys)) return rate(t);
    if (ends_with_one_of(key, kDurationKeys) >= 0 || is_one_of(key, kBareDurationKeys))
      return duration(t, key, unit);
    if (t.unit == "s/it" || t.unit == "ms/step" || t.unit == "s/step")
      return duration(t, "time per step", unit);
    if (is_one_of(key, kCumulativeKeys)) return cumulative(t, unit);
    if (is_one_of(key, kDataKeys)) {
      data_ = scaled(t, unit != 0 ? unit : 1'000'000'000);
      return;
    }
    if (key.empty() && !t.after_slash && (t.unit == "ms" || t.unit == "us") &&
        bare_ == kNoDuration) {
      bare_ = scaled(t, unit);
      return;
    }
    const double value = parse_double(t.number).value_or(kNaN);
    LogRecord& r = out_.record;
    if (is_one_of(key, kLossKeys))
      r.loss = value;
    else if (is_one_of(key, kBatchKeys))
      r.samples = value;
    else if (is_one_of(key, kSampleRateKeys))
      r.samples_per_second = value;
    else if (is_one_of(key, kTokenRateKeys) || t.unit == "tok/s")
      r.tokens_per_second = value;
    else if (key.substr(0, 4) == "val " || key.substr(0, 5) == "eval " ||
             contains(key, "validation"))
      validates_ = true;
    else if (key == "eta")
      smoothed_ = true;
    else if (key == "rank" || key == "global rank")
      r.rank = static_cast<int32_t>(std::clamp<int64_t>(whole(t.number), -1, 1 << 30));
  }

  KeyValueLine finish() {
    LogRecord& r = out_.record;
    if (r.duration == kNoDuration && bare_ != kNoDuration && r.cumulative == kNoDuration)
      r.duration = bare_;
    if (r.duration == kNoDuration && rate_ != kNoDuration) {
      r.duration = rate_;
      r.mean = true;
    }
    if (r.duration != kNoDuration && data_ != kNoDuration && data_ <= r.duration)
      r.phases[index(Phase::input_wait)] = data_;
    if (smoothed_ || contains(text_, "eta:")) r.mean = r.mean || bare_time_;
    out_.evaluation = validates_ && r.duration == kNoDuration;
    out_.bad_duration = r.duration == kNoDuration && (out_.bad_duration || tells_no_number(text_));
    return out_;
  }
  KeyValueLine& out() { return out_; }
  void validates() { validates_ = true; }

 private:
  // A time of day as a number: "timestamp": 1715158235.436
  bool clock(const LogToken& t, std::string_view key) {
    if (!is_one_of(key, kClockKeys) || !t.unit.empty()) return false;
    const size_t digits = std::min(t.number.find('.'), t.number.size());
    if (digits < 10) return false;
    std::optional<Ns> time;
    if (digits == 13)
      time = parse_scaled_ns(t.number, 1'000'000);
    else
      time = parse_time_ns(t.number);
    if (time) {
      out_.record.time = *time;
      out_.record.whole_seconds = digits == 10 && t.number.size() == 10;
    }
    return true;
  }
  void rate(const LogToken& t) {
    const double per_second = parse_double(t.number).value_or(0);
    if (per_second > 1e-9 && per_second < 1e9)
      rate_ = static_cast<Ns>(std::llround(1e9 / per_second));
  }
  void duration(const LogToken& t, std::string_view key, int64_t unit) {
    LogRecord& r = out_.record;
    if (r.duration != kNoDuration) return;
    if (t.number.front() != '-') r.duration = scaled(t, unit != 0 ? unit : 1'000'000'000);
    if (r.duration == kNoDuration) {
      out_.bad_duration = true;
      return;
    }
    out_.unit_assumed = unit == 0;
    r.mean = key == "elapsed time per iteration" || contains(key, " per ") || contains(key, "/");
    bare_time_ = key == "time";
  }
  void cumulative(const LogToken& t, int64_t unit) {
    LogRecord& r = out_.record;
    r.cumulative = scaled(t, unit != 0 ? unit : 1'000'000'000);
    r.whole_seconds =
        (unit == 0 || unit == 1'000'000'000) && t.number.find('.') == std::string_view::npos;
  }

  std::string_view text_;
  KeyValueLine out_;
  Ns bare_ = kNoDuration, rate_ = kNoDuration, data_ = kNoDuration;
  bool validates_ = false, smoothed_ = false, bare_time_ = false;
};

}  // namespace

std::optional<KeyValueLine> read_key_values(std::string_view text, std::vector<LogToken>& tokens) {
  constexpr std::array<std::string_view, 8> kHints = {"tep",  "ter",    "poch", "pdate",
                                                      "atch", "Train:", "STEP", "it:"};
  if (std::none_of(kHints.begin(), kHints.end(),
                   [&](std::string_view h) { return contains(text, h); }))
    return std::nullopt;
  read_tokens(text, tokens);
  const StepWords step = find_step(tokens);
  if (step.step < 0) return std::nullopt;
  Line line(text);
  LogRecord& record = line.out().record;
  record.step = step.step;
  record.total = step.total;
  record.epoch = step.epoch;
  const std::string_view key = tokens[step.token].key;
  if (contains(key, "validation") || contains(key, "eval")) line.validates();
  for (size_t i = 0; i < tokens.size(); ++i)
    if (i != step.token) line.token(tokens[i]);
  return line.finish();
}

}  // namespace firstwait
