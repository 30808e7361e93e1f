#include "import/logs/step_columns.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "import/logs/log_lines.h"

namespace firstwait {
namespace {

using Words = std::string_view;
constexpr std::array<Words, 16> kSteps = {
    "step",          "global step", "iteration", "iter",       "window",   "batch",
    "batch idx",     "batch index", "minibatch", "mini batch", "step idx", "step id",
    "sample window", "train step",  "iter num",  "batch id"};
constexpr std::array<Words, 10> kRanks = {"rank",    "worker",     "worker id",   "global rank",
                                          "rank id", "worker idx", "worker rank", "process",
                                          "task",    "replica"};
constexpr std::array<Words, 5> kHosts = {"host", "hostname", "node", "instance", "node name"};
constexpr std::array<Words, 14> kDurations = {
    "duration",        "step time",         "iter time",          "iteration time",
    "batch time",      "time per step",     "time per iteration", "step duration",
    "latency",         "iter duration",     "mini batch time",    "minibatch time",
    "train step time", "iteration duration"};
constexpr std::array<Words, 8> kStarts = {"start", "start time", "timestamp", "wall time",
                                          "ts",    "date",       "datetime",  "begin"};
constexpr std::array<Words, 6> kElapsed = {"elapsed",    "elapsed time", "train time",
                                           "total time", "time elapsed", "created at"};
constexpr std::array<Words, 5> kSamples = {"samples", "batch size", "global batch size",
                                           "num samples", "examples"};
constexpr std::array<Words, 4> kLosses = {"loss", "train loss", "train loss step", "train/loss"};

struct PhaseName {
  Words name;
  Phase phase;
};
constexpr std::array<PhaseName, 24> kPhaseColumns = {{{"input wait", Phase::input_wait},
                                                      {"data", Phase::input_wait},
                                                      {"data time", Phase::input_wait},
                                                      {"data load", Phase::input_wait},
                                                      {"data loading", Phase::input_wait},
                                                      {"dataload", Phase::input_wait},
                                                      {"data wait", Phase::input_wait},
                                                      {"h2d", Phase::h2d},
                                                      {"forward", Phase::forward},
                                                      {"fwd", Phase::forward},
                                                      {"backward", Phase::backward},
                                                      {"bwd", Phase::backward},
                                                      {"optimizer", Phase::optimizer},
                                                      {"optim", Phase::optimizer},
                                                      {"opt", Phase::optimizer},
                                                      {"collective", Phase::collective},
                                                      {"comm", Phase::collective},
                                                      {"communication", Phase::collective},
                                                      {"allreduce", Phase::collective},
                                                      {"all reduce", Phase::collective},
                                                      {"p2p", Phase::p2p},
                                                      {"checkpoint", Phase::checkpoint},
                                                      {"gc", Phase::gc},
                                                      {"host", Phase::host}}};

template <size_t N>
bool is_one_of(std::string_view name, const std::array<Words, N>& words) {
  return std::find(words.begin(), words.end(), name) != words.end();
}

struct Column {
  std::string name;  // lower case, words apart, without its unit
  TimeColumn time;
};

Column read_column(std::string_view text, int index) {
  Column out;
  out.time.column = index;
  out.time.assumed = true;
  std::string s = to_lower(trim(text));
  for (char& c : s)
    if (c == '_' || c == '-' || c == '.' || c == '(' || c == ')' || c == '[' || c == ']') c = ' ';
  auto words = split_blank(s);
  if (words.size() > 1) {
    const std::string_view last = words.back();
    if (const int64_t unit = time_unit_ns(last); unit != 0) {
      out.time.unit = unit;
      out.time.assumed = false;
      words.pop_back();
      if (words.size() > 1 && words.back() == "in") words.pop_back();
    } else if (last == "norm" || last == "normalized" || last == "normalised" ||
               last == "relative" || last == "rel") {
      out.time.normalised = true;
      out.time.assumed = false;
      words.pop_back();
    }
  }
  for (const auto word : words) {
    if (!out.name.empty()) out.name += ' ';
    out.name += word;
  }
  return out;
}

// "rank0", "worker 3", "r2", "gpu7", "5": a column of one rank. -1: another.
int32_t rank_column(std::string_view name) {
  for (const std::string_view word : {"rank", "worker", "gpu", "proc", "node", "w", "r"})
    if (name.substr(0, word.size()) == word) {
      name = trim(name.substr(word.size()));
      break;
    }
  if (name.empty() || name.size() > 6 ||
      name.find_first_not_of("0123456789") != std::string_view::npos)
    return -1;
  return static_cast<int32_t>(parse_int(name).value_or(-1));
}

// All columns but the first are ranks, each once; the first counts steps in whole numbers.
std::optional<StepColumns> read_wide(const std::vector<Column>& columns,
                                     const std::vector<std::string>& row) {
  if (columns.size() < 3 || !(columns[0].name.empty() || is_one_of(columns[0].name, kSteps)))
    return std::nullopt;
  if (columns[0].name.empty() && (row.empty() || !parse_int(row[0]))) return std::nullopt;
  StepColumns out;
  out.step = 0;
  std::vector<int32_t> seen;
  for (size_t i = 1; i < columns.size(); ++i) {
    const int32_t rank = rank_column(columns[i].name);
    if (rank < 0) return std::nullopt;
    out.wide.emplace_back(rank, columns[i].time);
    seen.push_back(rank);
  }
  std::sort(seen.begin(), seen.end());
  if (std::adjacent_find(seen.begin(), seen.end()) != seen.end()) return std::nullopt;
  return out;
}

}  // namespace

std::optional<StepColumns> read_step_columns(const std::vector<std::string>& header,
                                             const std::vector<std::string>& row) {
  if (header.size() < 2 || header.size() > 262'144) return std::nullopt;
  std::vector<Column> columns;
  for (size_t i = 0; i < header.size(); ++i)
    columns.push_back(read_column(header[i], static_cast<int>(i)));
  if (auto wide = read_wide(columns, row)) return wide;
  StepColumns out;
  int time = -1;
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto& c = columns[i];
    const int at = static_cast<int>(i);
    const auto unset = [](int column) { return column < 0; };
    if (unset(out.step) && is_one_of(c.name, kSteps))
      out.step = at;
    else if (unset(out.rank) && is_one_of(c.name, kRanks))
      out.rank = at;
    else if (unset(out.host) && is_one_of(c.name, kHosts))
      out.host = at;
    else if (unset(out.duration.column) && is_one_of(c.name, kDurations))
      out.duration = c.time;
    else if (unset(out.start.column) && (is_one_of(c.name, kStarts) || is_one_of(c.name, kElapsed)))
      out.start = c.time;
    else if (unset(time) && c.name == "time")
      time = at;
    else if (unset(out.samples) && is_one_of(c.name, kSamples))
      out.samples = at;
    else if (unset(out.loss) && is_one_of(c.name, kLosses))
      out.loss = at;
    else if (unset(out.epoch) && c.name == "epoch")
      out.epoch = at;
    else {
      std::string_view name = c.name;
      if (name.size() > 5 && name.substr(name.size() - 5) == " time" && name != "data time")
        name.remove_suffix(5);
      for (const auto& p : kPhaseColumns)
        if (p.name == name) out.phases.emplace_back(p.phase, c.time);
    }
  }
  // A bare "time": the step's number where nothing else counts steps (sample windows), else its
  // duration, else a clock.
  if (time >= 0) {
    const TimeColumn column = columns[static_cast<size_t>(time)].time;
    if (out.step < 0 && out.duration.column >= 0 && out.rank >= 0 && column.assumed) {
      out.step = time;
      out.windows = true;
    } else if (out.duration.column < 0)
      out.duration = column;
    else if (out.start.column < 0)
      out.start = column;
  }
  if (out.step < 0) {
    out.row_index = true;
    // Rows that nothing counts are steps only when they are plainly rows of one step each.
    if (out.rank < 0 || out.duration.column < 0) return std::nullopt;
  }
  if (!out.timed() && out.loss < 0 && out.epoch < 0) return std::nullopt;
  return out;
}

}  // namespace firstwait
