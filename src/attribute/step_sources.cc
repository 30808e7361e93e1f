#include "attribute/step_sources.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/saturate.h"
#include "base/stats.h"

namespace firstwait {
namespace {

int64_t phases_told(const StepTable& t) {
  std::vector<int64_t> told(t.size(), 0);
  for (size_t row = 0; row < t.size(); ++row)
    for (size_t p = 0; p < kPhases; ++p)
      told[row] += t.phase(row, static_cast<Phase>(p)) != kNoDuration ? 1 : 0;
  return told.empty() ? 0 : median_int(told);
}

// A log tells of the job, not of the rank that wrote it: beside the trace of another rank it is
// that rank's history.
void adopt_rank(const StepTable& traced, StepTable& steps) {
  const std::set<int32_t> ours(steps.rank.begin(), steps.rank.end());
  const std::set<int32_t> theirs(traced.rank.begin(), traced.rank.end());
  if (ours.size() != 1 || theirs.contains(*ours.begin())) return;
  std::fill(steps.rank.begin(), steps.rank.end(), *theirs.begin());
}

// The rows of one rank by their times, where all times are known and count from the epoch.
class History {
 public:
  // `rows` are this rank's, [from, to) the traced steps of the same rank.
  History(const StepTable& steps, std::vector<size_t> rows, const StepTable& traced, size_t from,
          size_t to)
      : steps_(steps), by_time_(std::move(rows)) {
    timed_ = !by_time_.empty();
    for (const size_t row : by_time_) {
      by_number_.try_emplace(steps.step[row], row);
      timed_ = timed_ && steps.start[row] != kNoTime;
    }
    if (!timed_) return;
    std::stable_sort(by_time_.begin(), by_time_.end(),
                     [&](size_t a, size_t b) { return steps.start[a] < steps.start[b]; });
    // Some traces count from the start of the machine: their times tell nothing here.
    const Ns first = steps.start[by_time_.front()];
    const Ns last = sat_add(steps.start[by_time_.back()], steps.duration[by_time_.back()]);
    for (size_t row = from; row < to; ++row)
      timed_ = timed_ && traced.start[row] != kNoTime && traced.start[row] >= first &&
               traced.start[row] <= last;
  }

  // The step number in the history's own counting.
  int32_t number(int32_t step, Ns start, Ns duration) const {
    if (!timed_) return step;
    const Ns middle = sat_add(start, duration / 2);
    const auto next = std::upper_bound(by_time_.begin(), by_time_.end(), middle,
                                       [&](Ns t, size_t row) { return t < steps_.start[row]; });
    if (next == by_time_.begin()) return step;
    const size_t row = *std::prev(next);
    // A log that tells of every tenth step only: count on from the last one told.
    const Ns lasting = std::max<Ns>(1, steps_.duration[row]);
    const int64_t on = sat_sub(middle, steps_.start[row]) / lasting;
    const int64_t room =
        next == by_time_.end()
            ? INT32_MAX
            : std::max<int64_t>(0, int64_t{steps_.step[*next]} - steps_.step[row] - 1);
    return static_cast<int32_t>(
        std::min<int64_t>(INT32_MAX, steps_.step[row] + std::min(on, room)));
  }
  std::optional<size_t> row_of(int32_t step) const {
    const auto at = by_number_.find(step);
    return at == by_number_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  const StepTable& steps_;
  std::vector<size_t> by_time_;
  std::map<int32_t, size_t> by_number_;
  bool timed_ = false;
};

size_t copy_step(const StepTable& from, size_t row, int32_t step, StepTable& to) {
  const size_t at =
      to.append(from.job[row], from.rank[row], step, from.start[row], from.duration[row]);
  to.kind[at] = from.kind[row];
  to.epoch[at] = from.epoch[row];
  for (size_t p = 0; p < kPhases; ++p)
    if (const Phase phase = static_cast<Phase>(p); from.phase(row, phase) != kNoDuration)
      to.set_phase(at, phase, from.phase(row, phase));
  return at;
}

// What a row tells beside time and phases.
void copy_rest(const StepTable& from, size_t row, StepTable& to, size_t at) {
  if (from.epoch[row] >= 0) to.epoch[at] = from.epoch[row];
  const auto number = [&](const std::vector<double>& source, std::vector<double>& target) {
    if (const double v = StepTable::number(source, row); v == v) to.set_number(target, at, v);
  };
  number(from.samples, to.samples), number(from.tokens, to.tokens);
  number(from.bytes, to.bytes), number(from.loss, to.loss);
  number(from.loader_workers, to.loader_workers), number(from.loader_queued, to.loader_queued);
  for (size_t w = 0; w < kLoaderWorks; ++w) {
    const auto work = static_cast<LoaderWork>(w);
    if (const Ns v = from.loader_time(row, work); v != kNoDuration) to.set_loader(at, work, v);
  }
}

}  // namespace

std::optional<StepTable> join_traces(const StepTable& steps, const StepTable& traced) {
  if (steps.size() == 0 || traced.size() == 0 || phases_told(steps) >= phases_told(traced))
    return std::nullopt;
  StepTable history = steps;
  for (auto& column : history.phases) column.clear();
  adopt_rank(traced, history);
  std::map<int32_t, std::vector<size_t>> of_rank;
  for (size_t row = 0; row < history.size(); ++row)
    if (history.kind[row] == StepKind::train) of_rank[history.rank[row]].push_back(row);
  StepTable joined;
  std::vector<uint8_t> replaced(history.size(), 0);
  for (size_t from = 0, to = 0; from < traced.size(); from = to) {
    while (to < traced.size() && traced.rank[to] == traced.rank[from]) ++to;
    const History told(history, std::move(of_rank[traced.rank[from]]), traced, from, to);
    for (size_t row = from; row < to; ++row) {
      const int32_t step = told.number(traced.step[row], traced.start[row], traced.duration[row]);
      const size_t at = copy_step(traced, row, step, joined);
      const auto same = told.row_of(step);
      if (!same || replaced[*same] != 0) continue;
      replaced[*same] = 1;
      copy_rest(history, *same, joined, at);
    }
  }
  for (size_t row = 0; row < history.size(); ++row)
    if (replaced[row] == 0)
      copy_rest(history, row, joined, copy_step(history, row, history.step[row], joined));
  return joined;
}

}  // namespace firstwait
