#include "attribute/pauses.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/saturate.h"
#include "base/text.h"
#include "model/step_times.h"

namespace firstwait {
namespace {

// Where the job stood still: no time of its steps.
struct Restarts {
  std::set<int32_t> steps;  // first step of each new attempt
  std::set<Ns> times;       // of those whose step is not told
  explicit Restarts(const Evidence& evidence) {
    for (const Event& event : evidence.events) {
      if (event.kind != "restart" && event.kind != "job_start" && event.kind != "pause") continue;
      if (const auto number = parse_int(event.attribute("step"));
          number && *number >= INT32_MIN && *number <= INT32_MAX)
        steps.insert(static_cast<int32_t>(*number));
      else if (event.start != kNoTime)
        times.insert(event.start);
    }
  }
  bool between(Ns from, Ns to) const {
    const auto at = times.lower_bound(from);
    return at != times.end() && *at <= to;
  }
};

Ns clock_offset(const Evidence& evidence, int32_t rank) {
  const auto info = evidence.ranks.find(rank);
  return info == evidence.ranks.end() ? 0 : info->second.clock_offset;
}

// Nothing was left out between two rows of a rank that follow each other in time. Evaluations and
// saves are counted on their own.
bool follows(const StepTable& t, size_t a, size_t b) {
  const bool train_a = t.kind[a] == StepKind::train || t.kind[a] == StepKind::warmup;
  const bool train_b = t.kind[b] == StepKind::train || t.kind[b] == StepKind::warmup;
  return train_a != train_b || int64_t{t.step[b]} == int64_t{t.step[a]} + 1;
}

// When events of one kind took place, as disjoint intervals. Without an end an event says nothing
// of how long.
class Busy {
 public:
  Busy(const Evidence& evidence, std::string_view kind) {
    for (const Event& event : evidence.events) {  // in time order
      if (event.kind != kind || event.start == kNoTime || event.end == kNoTime) continue;
      if (intervals_.empty() || event.start > intervals_.back().second)
        intervals_.emplace_back(event.start, std::max(event.start, event.end));
      else
        intervals_.back().second = std::max(intervals_.back().second, event.end);
    }
  }
  Ns inside(Ns from, Ns to) const {
    Ns sum = 0;
    auto at = std::partition_point(intervals_.begin(), intervals_.end(),
                                   [from](const auto& i) { return i.second <= from; });
    for (; at != intervals_.end() && at->first < to; ++at)
      sum += std::min(to, at->second) - std::max(from, at->first);
    return sum;
  }

 private:
  std::vector<std::pair<Ns, Ns>> intervals_;
};

// Rows of a log that give the mean step of a longer stretch: what follows is the rest of the
// stretch.
bool tells_means(const Evidence& evidence) {
  return std::any_of(evidence.settings.begin(), evidence.settings.end(), [](const Setting& s) {
    return s.key == "log.row" && s.value.starts_with("mean");
  });
}

// `rows` are those of one rank, all with starts, in time order.
void of_rank(const StepTable& t, const std::vector<size_t>& rows, const Restarts& restarts,
             const Busy& evaluations, Ns offset, std::vector<Ns>& out) {
  const auto end_of = [&t](size_t row) { return sat_add(t.start[row], t.duration[row]); };
  const Ns stamp = std::max(resolution(rows, [&t](size_t row) { return t.start[row]; }),
                            resolution(rows, end_of));
  const Ns rounding = resolution(rows, [&t](size_t row) { return t.duration[row]; });
  // The latest moment at which the step can have begun: a stamp tells the unit in which it lies.
  Ns latest = sat_add(t.start[rows.front()], stamp);
  size_t overlapping = 0;
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    const size_t row = rows[i], next = rows[i + 1];
    overlapping += end_of(row) > sat_add(t.start[next], stamp + rounding) ? 1 : 0;
    const Ns end = sat_add(latest, t.duration[row]);
    Ns pause = sat_sub(t.start[next], end);
    latest = std::min(std::max(end, t.start[next]), sat_add(t.start[next], stamp));
    if (!follows(t, row, next) || restarts.steps.contains(t.step[next]) ||
        restarts.between(sat_add(end_of(row), offset), sat_add(t.start[next], offset)))
      continue;
    // An evaluation is no part of a step that cannot name it.
    if (const Ns to = sat_add(t.start[next], offset); pause > 0 && !has_phases(t, row))
      pause -= evaluations.inside(sat_sub(to, pause), to);
    out[row] = pause > rounding ? pause : 0;
  }
  // A clock that was set explains single ones. Where steps overlap all along, starts do not bound
  // them.
  if (20 * overlapping > rows.size())
    for (const size_t row : rows) out[row] = kNoDuration;
}

}  // namespace

bool has_phases(const StepTable& t, size_t row) {
  for (size_t p = 0; p < kPhases; ++p)
    if (t.phase(row, static_cast<Phase>(p)) != kNoDuration) return true;
  return false;
}

std::vector<Ns> pauses(const StepTable& table, const Evidence& evidence) {
  std::vector<Ns> out(table.size(), kNoDuration);
  std::map<int32_t, std::vector<size_t>> by_rank;
  for (size_t row = 0; row < table.size(); ++row)
    if (table.start[row] != kNoTime && table.duration[row] >= 0)
      by_rank[table.rank[row]].push_back(row);
  if (tells_means(evidence)) return out;
  const Restarts restarts(evidence);
  const Busy evaluations(evidence, "evaluation");
  for (auto& [rank, rows] : by_rank) {
    std::stable_sort(rows.begin(), rows.end(),
                     [&table](size_t a, size_t b) { return table.start[a] < table.start[b]; });
    of_rank(table, rows, restarts, evaluations, clock_offset(evidence, rank), out);
  }
  return out;
}

StepTable with_pauses(const StepTable& table, const std::vector<Ns>& pauses,
                      const Evidence& evidence) {
  StepTable out = table;
  const Busy saves(evidence, "checkpoint"), evaluations(evidence, "evaluation");
  for (size_t row = 0; row < out.size(); ++row) {
    if (pauses[row] <= 0) continue;
    const Ns end = sat_add(sat_add(table.start[row], table.duration[row]),
                           clock_offset(evidence, table.rank[row]));
    const Ns next = sat_add(end, pauses[row]);
    out.duration[row] = sat_add(out.duration[row], pauses[row]);
    if (!has_phases(table, row)) continue;
    const Ns saving = saves.inside(end, next);
    const Ns evaluating = std::min(evaluations.inside(end, next), pauses[row] - saving);
    for (const auto& [phase, time] :
         {std::pair(Phase::checkpoint, saving), std::pair(Phase::evaluation, evaluating)})
      if (time > 0)
        out.set_phase(row, phase, sat_add(std::max<Ns>(0, out.phase(row, phase)), time));
  }
  return out;
}

}  // namespace firstwait
