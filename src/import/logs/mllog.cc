#include "import/logs/mllog.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>

namespace firstwait {
namespace {

constexpr Ns kMs = 1'000'000;
constexpr Ns kMaxBlock = int64_t{1} << 53;  // 104 days

double number(simdjson::simdjson_result<simdjson::dom::element> field) {
  double value = 0;
  return field.get(value) == simdjson::SUCCESS ? value : kNaN;
}

}  // namespace

void MllogReader::add_event(std::string_view kind, Ns start, Ns end, std::string status) {
  Event e;
  e.kind = kind;
  e.entity = log_job(context_);
  e.start = start;
  e.end = end;
  e.source = context_.path;
  if (!status.empty()) e.attributes.emplace_back("status", std::move(status));
  context_.out.events.push_back(std::move(e));
}

// Gauges as the log gives them: "throughput" is samples per second.
void MllogReader::statistic(std::string_view key, Ns time, double value) {
  auto& out = context_.out;
  auto at = series_.find(key);
  if (at == series_.end()) {
    Series s;
    s.metric =
        out.names.intern(key == "throughput" ? std::string("firstwait_job_samples_per_second")
                                             : fmt::format("firstwait_job_{}", key));
    s.entity = out.names.intern(log_job(context_));
    at = series_.emplace(std::string(key), out.series.size()).first;
    out.series.push_back(std::move(s));
  }
  out.series[at->second].time.push_back(time);
  out.series[at->second].value.push_back(value);
}

void MllogReader::end_block(RankState& state, int32_t rank, Ns time, bool last) {
  const Ns begin = state.begin;
  const double from = state.begin_at, to = state.at;
  state.begin = kNoTime;
  if (begin == kNoTime || time <= begin || time - begin > kMaxBlock) return;
  // What lies between the last evaluation and the end of the run trained nothing.
  const bool moved = std::isnan(from) || std::isnan(to) || to > from;
  if (last && (!moved || time - begin <= 10 * kMs)) return;
  Block block;
  block.rank = rank;
  block.start = begin;
  block.end = time;
  if (!std::isnan(to)) {
    const double before = std::isnan(from) ? 0 : from;
    if (position_in_samples_)
      block.samples = to - before;
    else
      block.samples = (to - before) * train_samples_;
    if (!position_in_samples_) block.epoch = static_cast<int32_t>(std::clamp(to, 0.0, 1e9));
  }
  blocks_.push_back(block);
}

bool MllogReader::line(std::string_view json, int32_t line_rank) {
  simdjson::dom::parser parser;
  simdjson::dom::element record;
  if (parser.parse(json.data(), json.size(), true).get(record)) return false;
  int64_t ms = 0;
  std::string_view key;
  if (record["time_ms"].get(ms) || record["key"].get(key) || ms < 0 || ms > 7'000'000'000'000)
    return false;
  const Ns time = ms * kMs;
  const int32_t rank = line_rank >= 0 ? line_rank : default_rank_;
  RankState& state = states_[rank];
  const double samples_at = number(record["metadata"]["samples_count"]);
  const double epoch_at = number(record["metadata"]["epoch_num"]);
  if (!std::isnan(samples_at)) {
    if (!position_in_samples_) state.at = state.begin_at = kNaN;
    position_in_samples_ = true;
    state.at = samples_at;
  } else if (!std::isnan(epoch_at) && !position_in_samples_) {
    state.at = epoch_at;
  }
  const auto begin = [&] {
    state.begin = time;
    state.begin_at = state.at;
  };
  if (key == "global_batch_size")
    batch_ = number(record["value"]);
  else if (key == "train_samples")
    train_samples_ = number(record["value"]);
  else if (key == "run_start") {
    state.run = time;
    begin();
    add_event("job_start", time, time);
  } else if (key == "block_start") {
    state.explicit_blocks = true;
    begin();
  } else if (key == "epoch_start") {
    if (!state.explicit_blocks || state.begin == kNoTime) begin();
  } else if (key == "block_stop") {
    end_block(state, rank, time, false);
  } else if (key == "eval_start") {
    end_block(state, rank, time, false);
    state.evaluation = time;
  } else if (key == "eval_stop") {
    if (state.evaluation != kNoTime) add_event("evaluation", state.evaluation, time);
    state.evaluation = kNoTime;
    if (!state.explicit_blocks) begin();
  } else if (key == "epoch_stop") {
    end_block(state, rank, time, true);
  } else if (key == "run_stop") {
    end_block(state, rank, time, true);
    std::string_view status;
    if (record["metadata"]["status"].get(status)) status = {};
    add_event("job_end", time, time, std::string(status));
  } else if (key == "tracked_stats") {
    simdjson::dom::object stats;
    if (record["value"].get(stats) == simdjson::SUCCESS)
      for (const auto field : stats) {
        double value = 0;
        if (field.value.get(value) == simdjson::SUCCESS) statistic(field.key, time, value);
      }
  }
  return true;
}

void MllogReader::finish(bool rows) {
  if (blocks_.empty() || !rows) return;
  // Blocks of the same length compare as they are; others only by the mean step within.
  double least = INFINITY, most = 0;
  bool counted = batch_ > 0;
  for (const auto& b : blocks_) {
    least = std::min(least, b.samples);
    most = std::max(most, b.samples);
    counted = counted && b.samples > 0;
  }
  const bool per_step = counted && most > least * 1.01;
  std::map<int32_t, int32_t> ordinal;
  auto& steps = context_.out.steps;
  for (const auto& b : blocks_) {
    const double count = counted ? b.samples / batch_ : kNaN;
    Ns duration = b.end - b.start;
    if (per_step && count >= 1)
      duration = static_cast<Ns>(std::llround(static_cast<double>(duration) / count));
    const size_t row = steps.append(kNoName, b.rank, ++ordinal[b.rank], b.start, duration);
    steps.epoch[row] = b.epoch;
    const double samples = per_step ? batch_ : b.samples;
    if (samples > 0) steps.set_number(steps.samples, row, samples);
    context_.out.rank(b.rank);
  }
  auto note =
      fmt::format("{} blocks of training between evaluations, one row each", blocks_.size());
  if (per_step)
    note += "; durations are the mean step of the block, because blocks differ in length";
  context_.out.settings.push_back({log_job(context_), "log.row",
                                   per_step ? "mean step of a block" : "block", context_.path,
                                   kNoTime});
  if (batch_ > 0)
    context_.out.settings.push_back({log_job(context_), "global_batch_size",
                                     fmt::format("{:.0f}", batch_), context_.path, kNoTime});
  context_.note(std::move(note));
}

}  // namespace firstwait
