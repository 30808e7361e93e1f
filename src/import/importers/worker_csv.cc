// Tables of step times: one row per worker and step, or one column per worker.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "import/importer.h"
#include "import/logs/csv.h"
#include "import/logs/log_lines.h"
#include "import/logs/step_assembler.h"
#include "import/logs/step_columns.h"

namespace firstwait {
namespace {

constexpr HealthCounter kHealth[] = {
    {"missing_value", Severity::info,
     "cells without a number (empty, NaN) are no measurements; nothing to do if expected"},
    {"bad_value", Severity::data_loss,
     "a step, rank or time is no number or out of range; mend the cell"},
    {"short_row", Severity::data_loss,
     "a row has fewer fields than the header; the file may be cut"},
    {"line_too_long", Severity::data_loss, "a line is longer than 16 MiB; write one row per step"},
    {"no_time_column", Severity::error,
     "no column holds a duration or a time; add one, for example step_time_s or timestamp"},
    {"no_data_rows", Severity::error, "there is a header but no usable row; record the job again"},
    {"elapsed_column", Severity::info,
     "the time column only grows, so it was read as a clock: durations are differences"},
    {"unit_assumed", Severity::info,
     "a time column has no unit and was read as seconds; name it step_time_s or _ms"},
    {"phases_exceed_step", Severity::info,
     "the phases of a step add up to more than its duration; they were not used"},
    {"repeated_row", Severity::data_loss, "a worker has two rows for one step; the first was kept"},
};
enum Counter : size_t {
  missing,
  bad,
  short_row,
  too_long,
  no_time,
  no_rows,
  elapsed,
  assumed,
  exceed,
  repeated
};

constexpr Ns kMaxTimeSpan = int64_t{1} << 53;

int sniff(const Sniff& s) {
  std::string_view head = without_bom(s.head);
  std::vector<std::string> header, row;
  while (!head.empty()) {
    const size_t end = head.find('\n');
    const std::string_view line = trim(head.substr(0, end));
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    if (line.size() > 1 << 20) return 0;
    const char separator = csv_separator(header.empty() ? line : std::string_view{});
    if (separator == 0) return 0;
    header.resize(split_csv(line, separator, header));
    // The names of many thousand ranks do not fit into what is looked at: the last one is cut.
    if (end == std::string_view::npos && header.size() > 2) header.pop_back();
    const std::string_view next = trim(head.substr(0, head.find('\n')));
    if (!next.empty()) row.resize(split_csv(next, separator, row));
    break;
  }
  // Names come first, and a table repeats its shape.
  if (header.empty() || (!header[0].empty() && parse_double(header[0]))) return 0;
  if (!row.empty() && head.find('\n') != std::string_view::npos && row.size() != header.size())
    return 0;
  const auto columns = read_step_columns(header, row);
  if (!columns) return 0;
  if (!columns->timed()) return 30;
  return columns->rank >= 0 || !columns->wide.empty() ? 85 : 70;
}

struct Row {
  int32_t rank = 0;
  int64_t step = 0;
  int32_t epoch = -1;
  Ns time = kNoTime, duration = kNoDuration;
  double loss = kNaN, samples = kNaN;
  int32_t phases = -1;
};

class WorkerCsvReader final : public LineReader {
 public:
  explicit WorkerCsvReader(ImportContext context) : context_(std::move(context)) {}

 protected:
  void line(std::string_view text, uint64_t number) override {
    if (number == 1) text = without_bom(text);
    if (trim(text).empty() || text.front() == '#') return;
    if (separator_ == 0) {
      separator_ = csv_separator(text);
      if (separator_ == 0) separator_ = ',';
      header_.resize(split_csv(text, separator_, header_));
      return;
    }
    const size_t count = split_csv(text, separator_, fields_);
    if (!columns_) {
      columns_ = read_step_columns(
          header_, {fields_.begin(), fields_.begin() + static_cast<std::ptrdiff_t>(count)});
      if (!columns_) columns_ = StepColumns{};
    }
    if (count < header_.size()) {
      // A last line without its end may be cut in a number: it is short, or it is whole.
      return context_.count(kHealth[short_row], 1, fmt::format("line {}", number));
    }
    row(number);
  }
  void too_long(uint64_t number) override {
    context_.count(kHealth[Counter::too_long], 1, fmt::format("line {}", number));
  }
  void end(bool complete) override {
    if (!complete && !rows_.empty()) rows_.pop_back();  // cut, perhaps within its last number
    if (!columns_ || rows_.empty()) {
      context_.count(columns_ && !columns_->timed() ? kHealth[no_time] : kHealth[no_rows]);
      return;
    }
    if (columns_->windows) number_windows();
    measure();
    write();
  }

 private:
  void place(size_t counter, uint64_t number) {
    context_.count(kHealth[counter], 1, fmt::format("line {}", number));
  }
  const std::string& field(int column) const { return fields_[static_cast<size_t>(column)]; }
  static bool absent(std::string_view text) {
    const std::string lower = to_lower(text);
    return lower.empty() || lower == "nan" || lower == "null" || lower == "none" || lower == "-" ||
           lower == "na" || lower == "n/a";
  }
  // A duration of the column's unit; kNoDuration when it is absent or bad (counted).
  Ns duration(const TimeColumn& column, uint64_t number) {
    const std::string& text = field(column.column);
    if (absent(text)) {
      place(missing, number);
      return kNoDuration;
    }
    // Relative numbers keep their digits: one is kept as one second.
    const auto value = parse_scaled_ns(text, column.normalised ? 1'000'000'000 : column.unit);
    if (!value || *value < 0 || *value > kMaxTimeSpan) {
      place(bad, number);
      return kNoDuration;
    }
    return *value;
  }
  std::optional<int64_t> whole(int column, uint64_t number) {
    const std::string& text = field(column);
    std::string_view digits = text;
    if (const size_t dot = digits.find('.');
        dot != std::string_view::npos &&
        digits.find_first_not_of('0', dot + 1) == std::string_view::npos)
      digits = digits.substr(0, dot);
    for (const std::string_view word : {"worker", "rank", "Worker", "Rank"})
      if (digits.substr(0, word.size()) == word) digits.remove_prefix(word.size());
    while (!digits.empty() &&
           (digits.front() == '_' || digits.front() == '-' || digits.front() == ' '))
      digits.remove_prefix(1);
    const auto value = parse_int(digits);
    if (absent(text))
      place(missing, number);
    else if (!value || *value < 0 || *value > INT32_MAX)
      place(bad, number);
    else
      return value;
    return std::nullopt;
  }

  void row(uint64_t number) {
    const StepColumns& c = *columns_;
    if (!c.timed()) return;
    Row r;
    if (c.rank >= 0) {
      const auto rank = whole(c.rank, number);
      if (!rank) return;
      r.rank = static_cast<int32_t>(*rank);
    }
    if (c.row_index) {
      r.step = next_[r.rank]++;
    } else {
      const auto step = whole(c.step, number);
      if (!step) return;
      r.step = *step;
    }
    for (const auto& [rank, column] : c.wide) {
      Row cell = r;
      cell.rank = rank;
      cell.duration = duration(column, number);
      if (cell.duration != kNoDuration) rows_.push_back(cell);
    }
    if (!c.wide.empty()) return;
    if (c.epoch >= 0 && !absent(field(c.epoch)))
      r.epoch = static_cast<int32_t>(
          std::clamp<int64_t>(parse_int(field(c.epoch)).value_or(-1), -1, INT32_MAX));
    if (c.start.column >= 0) r.time = clock(c.start, number);
    if (c.duration.column >= 0) {
      // A column of times of day, whatever its name.
      if (clock_like(c.duration))
        r.time = clock(c.duration, number);
      else
        r.duration = duration(c.duration, number);
    }
    if (r.duration == kNoDuration && r.time == kNoTime) return;
    if (c.loss >= 0) r.loss = parse_double(field(c.loss)).value_or(kNaN);
    if (c.samples >= 0) r.samples = parse_double(field(c.samples)).value_or(kNaN);
    if (c.host >= 0 && !absent(field(c.host))) hosts_.try_emplace(r.rank, field(c.host));
    if (!c.phases.empty()) phases(r, number);
    rows_.push_back(r);
  }

  void phases(Row& r, uint64_t number) {
    PhaseTimes times = no_phases();
    Ns sum = 0;
    for (const auto& [phase, column] : columns_->phases) {
      const Ns t = duration(column, number);
      if (t == kNoDuration) continue;
      times[index(phase)] = std::max<Ns>(times[index(phase)], 0) + t;
      sum += t;
    }
    if (r.duration != kNoDuration && sum > r.duration) return place(exceed, number);
    r.phases = static_cast<int32_t>(phases_.size());
    phases_.push_back(times);
  }

  bool clock_like(const TimeColumn& column) const {
    const std::string& text = field(column.column);
    const auto number = column.assumed ? parse_double(text) : std::nullopt;
    return number ? *number >= 1e8 : parse_iso8601_ns(text).has_value();
  }
  Ns clock(const TimeColumn& column, uint64_t number) {
    const std::string& text = field(column.column);
    if (absent(text)) {
      place(missing, number);
      return kNoTime;
    }
    if (const auto iso = parse_iso8601_ns(text)) return *iso;
    const auto value = column.assumed ? parse_time_ns(text) : parse_scaled_ns(text, column.unit);
    if (value && *value >= 0 && *value < (int64_t{1} << 62)) return *value;
    place(bad, number);
    return kNoTime;
  }

  // Sample windows are numbered from 0 in their order: their names are moments of the run, not
  // steps.
  void number_windows() {
    std::vector<int64_t> windows;
    for (const Row& r : rows_) windows.push_back(r.step);
    std::sort(windows.begin(), windows.end());
    windows.erase(std::unique(windows.begin(), windows.end()), windows.end());
    for (Row& r : rows_)
      r.step = std::lower_bound(windows.begin(), windows.end(), r.step) - windows.begin();
    windows_ = fmt::format("; steps are its {} sample windows, named {} to {} there",
                           windows.size(), windows.front(), windows.back());
    context_.out.settings.push_back(
        {log_job(context_), "log.row", "sample window", context_.path, kNoTime});
  }

  // Where rows hold clocks, durations are differences between the steps of one worker.
  void measure() {
    std::map<int32_t, std::vector<size_t>> by_rank;
    for (size_t i = 0; i < rows_.size(); ++i) by_rank[rows_[i].rank].push_back(i);
    // A "time" that never falls and grows far beyond its first value is the run's own clock.
    if (columns_->duration.column >= 0 && columns_->duration.assumed) {
      bool grows = true, long_enough = true;
      for (const auto& [rank, rows] : by_rank) {
        long_enough = long_enough && rows.size() >= 10;
        for (size_t i = 1; i < rows.size(); ++i)
          grows = grows && rows_[rows[i]].duration > rows_[rows[i - 1]].duration &&
                  rows_[rows[i]].step > rows_[rows[i - 1]].step;
        const Ns first = rows_[rows.front()].duration, last = rows_[rows.back()].duration;
        grows = grows && (first == 0 || last / first >= static_cast<Ns>(rows.size()) / 4);
      }
      if (grows && long_enough) {
        context_.count(kHealth[elapsed], rows_.size());
        for (Row& r : rows_) {
          r.time = r.duration;
          r.duration = kNoDuration;
        }
      }
    }
    for (auto& [rank, rows] : by_rank) {
      std::stable_sort(rows.begin(), rows.end(),
                       [&](size_t a, size_t b) { return rows_[a].step < rows_[b].step; });
      for (size_t i = rows.size(); i-- > 1;) {
        Row& r = rows_[rows[i]];
        const Row& before = rows_[rows[i - 1]];
        if (r.duration != kNoDuration || r.time == kNoTime || before.time == kNoTime ||
            r.step <= before.step)
          continue;
        const Ns span = r.time - before.time;
        if (span <= 0 || span > kMaxTimeSpan) continue;
        r.duration = span / (r.step - before.step);
        differences_ = true;
      }
    }
  }

  void write() {
    auto& steps = context_.out.steps;
    std::map<int32_t, size_t> ranks;
    std::unordered_map<uint64_t, bool> seen;
    size_t written = 0, untimed = 0;
    for (const Row& r : rows_) {
      if (r.duration == kNoDuration) {
        ++untimed;
        continue;
      }
      const uint64_t key = static_cast<uint64_t>(static_cast<uint32_t>(r.rank)) << 32 |
                           static_cast<uint32_t>(r.step);
      if (!seen.emplace(key, true).second) {
        context_.count(kHealth[repeated], 1, fmt::format("rank {} step {}", r.rank, r.step));
        continue;
      }
      // Clocks that durations were taken from stand at a step's end; a start column at its
      // beginning.
      Ns start = r.time;
      if (differences_ && start != kNoTime) start -= r.duration;
      const size_t i =
          steps.append(kNoName, r.rank, static_cast<int32_t>(r.step), start, r.duration);
      steps.epoch[i] = r.epoch;
      if (!std::isnan(r.loss)) steps.set_number(steps.loss, i, r.loss);
      if (!std::isnan(r.samples)) steps.set_number(steps.samples, i, r.samples);
      if (r.phases >= 0)
        for (size_t p = 0; p < kPhases; ++p)
          if (const Ns t = phases_[static_cast<size_t>(r.phases)][p]; t != kNoDuration)
            steps.set_phase(i, static_cast<Phase>(p), t);
      if (start != kNoTime && start < 100'000'000'000'000'000)
        context_.out.rank(r.rank).relative_time = true;
      ++ranks[r.rank];
      ++written;
    }
    if (untimed > ranks.size()) context_.count(kHealth[missing], untimed);
    if (written == 0) return context_.count(kHealth[no_rows]);
    for (const auto& [rank, n] : ranks) {
      auto& info = context_.out.rank(rank);
      const auto host = hosts_.find(rank);
      if (host != hosts_.end() && info.host.empty()) info.host = host->second;
      if (info.source.empty()) info.source = context_.path;
    }
    const TimeColumn& time =
        columns_->wide.empty() ? columns_->duration : columns_->wide.front().second;
    std::string note =
        fmt::format("{} worker{}, {} rows", ranks.size(), ranks.size() == 1 ? "" : "s", written);
    if (time.normalised) {
      context_.out.job.unitless = true;
      context_.out.settings.push_back(
          {log_job(context_), "time.unit", "normalised", context_.path, kNoTime});
      note += "; times are relative numbers without a unit";
    } else if (time.assumed && time.column >= 0 && !differences_) {
      context_.count(kHealth[assumed]);
    }
    context_.note(note + windows_);
  }

  ImportContext context_;
  char separator_ = 0;
  std::vector<std::string> header_, fields_;
  std::optional<StepColumns> columns_;
  std::vector<Row> rows_;
  std::vector<PhaseTimes> phases_;
  std::map<int32_t, std::string> hosts_;
  std::map<int32_t, int64_t> next_;
  bool differences_ = false;
  std::string windows_;
};

}  // namespace

extern const Importer importer_worker_csv{
    .name = "worker_csv",
    .summary = "step times per worker from a table",
    .formats =
        "CSV or TSV with columns for step, rank or worker, and time (unit in the name: _s, _ms, "
        "(us)); or one column "
        "per rank; Lightning's metrics.csv when it has a time column",
    .health = kHealth,
    .sniff = sniff,
    .open = [](ImportContext c) -> std::unique_ptr<Reader> {
      return std::make_unique<WorkerCsvReader>(std::move(c));
    }};

}  // namespace firstwait
