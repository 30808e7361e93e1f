#include "attribute/segments.h"

#include <algorithm>
#include <cmath>

#include "attribute/thresholds.h"
#include "base/saturate.h"
#include "base/stats.h"
#include "base/text.h"

namespace firstwait {
namespace {

// What is normal beyond the start: median and band of the steps behind the longest start-up allowed
// for.
struct Band {
  double median = kNaN, width = kNaN, share = 1;  // share: of its own steps that it holds
  bool holds(double x) const { return std::abs(x - median) <= width; }
};

Band band_of(const JobSteps& steps, const std::vector<Ns>& time, size_t from, size_t to) {
  std::vector<double> values;
  for (size_t c = from; c < to; ++c)
    if (steps.segment[c] == SegmentKind::steady) values.push_back(static_cast<double>(time[c]));
  const Robust r = robust(values);
  Band band;
  band.median = r.median;
  // Three sigma is jitter; below the minimum effect nothing is worth setting apart.
  band.width = std::max(3 * r.scale, (kMinimumEffect - 1) * r.median);
  const auto held =
      std::count_if(values.begin(), values.end(), [&](double v) { return band.holds(v); });
  if (!values.empty()) band.share = static_cast<double>(held) / static_cast<double>(values.size());
  return band;
}

// Marks the steps from `first` on until `settled` steps in a row lie in the band. At most `limit`
// steps: a job that is slow for longer than that is slow, not warming up. A step above `ceiling`
// times the usual is something else than settling, and ends it.
void mark_until_settled(JobSteps& steps, const std::vector<Ns>& times, size_t first, size_t limit,
                        size_t settled, SegmentKind kind, double ceiling = INFINITY) {
  const size_t end = std::min(steps.size(), first + limit);
  // Compared with the steps right behind: far ones may lie behind a change.
  const Band band =
      band_of(steps, times, end, std::min(steps.size(), end + std::max<size_t>(3, limit)));
  if (!(band.median > 0)) return;
  // Where slow steps return all the time, waiting for a quiet run would never end: only an unbroken
  // start counts.
  if (std::pow(band.share, static_cast<double>(settled)) < 0.7) settled = 1;
  size_t run = 0, last_out = SIZE_MAX;
  for (size_t c = first; c < end && run < settled; ++c) {
    if (steps.segment[c] != SegmentKind::steady) continue;
    const auto time = static_cast<double>(times[c]);
    if (time > ceiling * band.median) break;
    if (band.holds(time)) {
      ++run;
    } else {
      run = 0;
      last_out = c;
    }
  }
  if (last_out == SIZE_MAX) return;
  for (size_t c = first; c <= last_out; ++c)
    if (steps.segment[c] == SegmentKind::steady) steps.segment[c] = kind;
}

void mark_kinds(StepGrid& grid) {
  JobSteps& steps = grid.steps;
  const auto mostly = [&steps](size_t c, Phase p) {
    return steps.ledger[index(p)][c] > steps.time[c] / 2;
  };
  for (size_t c = 0; c < steps.size(); ++c) {
    if (grid.kind[c] == StepKind::evaluation || mostly(c, Phase::evaluation))
      steps.segment[c] = SegmentKind::evaluation;
    else if (grid.kind[c] == StepKind::checkpoint || mostly(c, Phase::checkpoint))
      steps.segment[c] = SegmentKind::checkpoint;
    else if (grid.kind[c] == StepKind::warmup)
      steps.segment[c] = SegmentKind::warmup;
    else if (mostly(c, Phase::compile))
      steps.segment[c] = SegmentKind::compile;
  }
}

// Column with the greatest start not after `time`; SIZE_MAX: none.
size_t column_at(const JobSteps& steps, Ns time) {
  size_t lo = 0, hi = steps.size();
  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    if (steps.start[mid] != kNoTime && steps.start[mid] <= time)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo == 0 ? SIZE_MAX : lo - 1;
}

// The step in which an evaluation or a save lies, if it lies mostly in one: then that step's time
// holds it. An asynchronous save that runs beside many steps marks none of them.
void mark_events(const Evidence& evidence, JobSteps& steps) {
  if (std::find(steps.start.begin(), steps.start.end(), kNoTime) != steps.start.end()) return;
  for (const Event& event : evidence.events) {
    const bool evaluation = event.kind == "evaluation", checkpoint = event.kind == "checkpoint";
    if ((!evaluation && !checkpoint) || event.start == kNoTime) continue;
    const Ns end = event.end == kNoTime ? event.start : std::max(event.start, event.end);
    for (size_t c = column_at(steps, event.start); c < steps.size(); ++c) {
      const Ns step_end = sat_add(steps.start[c], steps.time[c]);
      if (steps.start[c] > end) break;
      const Ns overlap = sat_sub(std::min(end, step_end), std::max(event.start, steps.start[c]));
      if (overlap >= 0 && 2 * static_cast<__int128>(overlap) >= sat_sub(end, event.start) &&
          steps.segment[c] == SegmentKind::steady)
        steps.segment[c] = evaluation ? SegmentKind::evaluation : SegmentKind::checkpoint;
    }
  }
}

// The step behind an evaluation or a save refills caches and queues, and where times are taken
// without waiting for the device it also pays for what was enqueued before: it belongs to the
// interruption, and so do the next ones until three in a row are as usual. Where every other entry
// is an interruption (evaluation blocks), nothing is aftermath.
void mark_after(const std::vector<std::pair<size_t, SegmentKind>>& interruptions, JobSteps& steps) {
  constexpr size_t kLongest = 5;
  if (5 * interruptions.size() > steps.size()) return;
  for (const auto& [c, kind] : interruptions) {
    if (c >= steps.size()) continue;
    if (steps.segment[c] == SegmentKind::steady) steps.segment[c] = kind;
    mark_until_settled(steps, steps.time, c + 1, kLongest, 3, kind, kOutlierRatio);
  }
}

// Where the training goes on behind evaluations and saves: behind marked steps, and where a log
// tells of an interruption by the number of the step before it only.
std::vector<std::pair<size_t, SegmentKind>> interruptions_of(const Evidence& evidence,
                                                             const JobSteps& steps) {
  std::vector<std::pair<size_t, SegmentKind>> found;
  for (size_t c = 1; c < steps.size(); ++c) {
    const SegmentKind before = steps.segment[c - 1];
    if (steps.segment[c] == SegmentKind::steady &&
        (before == SegmentKind::evaluation || before == SegmentKind::checkpoint))
      found.emplace_back(c, before);
  }
  for (const Event& event : evidence.events) {
    const bool evaluation = event.kind == "evaluation", checkpoint = event.kind == "checkpoint";
    if (!evaluation && !checkpoint) continue;
    const auto number = parse_int(event.attribute("step"));
    if (!number || *number < INT32_MIN || *number > INT32_MAX) continue;
    const auto at =
        std::upper_bound(steps.step.begin(), steps.step.end(), static_cast<int32_t>(*number));
    const auto c = static_cast<size_t>(at - steps.step.begin());
    if (c > 0 && c < steps.size() && steps.segment[c] == SegmentKind::steady)
      found.emplace_back(c, evaluation ? SegmentKind::evaluation : SegmentKind::checkpoint);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end(),
                          [](const auto& a, const auto& b) { return a.first == b.first; }),
              found.end());
  return found;
}

// The first pass over the data fills caches: its own segment when it is slower than the later ones.
void mark_first_epoch(StepGrid& grid) {
  JobSteps& steps = grid.steps;
  int32_t first = -1;
  std::vector<double> in_first, later;
  for (size_t c = 0; c < steps.size(); ++c) {
    if (grid.epoch[c] < 0 || steps.segment[c] != SegmentKind::steady) continue;
    if (first < 0) first = grid.epoch[c];
    (grid.epoch[c] == first ? in_first : later).push_back(static_cast<double>(steps.time[c]));
  }
  // Against the second epoch's pace; a first epoch that is most of the record is no start-up.
  if (in_first.empty() || later.size() < 2 || in_first.size() > later.size()) return;
  later.resize(std::min(later.size(), std::max<size_t>(2, in_first.size())));
  if (median(in_first) < kMinimumEffect * median(later)) return;
  for (size_t c = 0; c < steps.size(); ++c)
    if (grid.epoch[c] == first && steps.segment[c] == SegmentKind::steady)
      steps.segment[c] = SegmentKind::first_epoch;
}

void mark_restarts(const Evidence& evidence, JobSteps& steps) {
  for (const Event& event : evidence.events) {
    if (event.kind != "restart") continue;
    size_t c = SIZE_MAX;
    if (const auto number = parse_int(event.attribute("step")); number) {
      c = static_cast<size_t>(std::lower_bound(steps.step.begin(), steps.step.end(), *number) -
                              steps.step.begin());
    } else if (event.start != kNoTime && !steps.start.empty() && steps.start.front() != kNoTime) {
      c = column_at(steps, event.start);
      c = c == SIZE_MAX ? SIZE_MAX : c + 1;
    }
    if (c == 0 || c >= steps.size() || steps.segment[c] != SegmentKind::steady) continue;
    steps.segment[c] = SegmentKind::restart;
    mark_until_settled(steps, steps.time, c + 1, std::max<size_t>(1, steps.size() / 20), 3,
                       SegmentKind::restart);
  }
}

// What most ranks took: the job starts up on all of them. One that is late at the start is late.
std::vector<Ns> usual_times(const StepGrid& grid) {
  const size_t rows = grid.ranks.ranks.size();
  if (rows < 3) return grid.steps.time;
  std::vector<Ns> out(grid.columns());
  std::vector<int64_t> own;
  for (size_t c = 0; c < grid.columns(); ++c) {
    own.clear();
    for (size_t r = 0; r < rows; ++r)
      if (const Ns t = grid.ranks.own_time[r * grid.columns() + c]; t >= 0) own.push_back(t);
    out[c] = own.size() < 3 ? grid.steps.time[c] : median_int(own);
  }
  return out;
}

// Whether the record begins with the job: a profile or a window that starts at step 500 holds no
// start-up. Logs that tell of every tenth step begin with step 10.
bool from_the_start(const JobSteps& steps) {
  int64_t spacing = 1;
  for (size_t c = 1; c < steps.size() && spacing <= 1; ++c)
    spacing = std::max<int64_t>(spacing, int64_t{steps.step[c]} - steps.step[c - 1]);
  return steps.step.front() <= spacing;
}

}  // namespace

void find_segments(const Evidence& evidence, StepGrid& grid) {
  JobSteps& steps = grid.steps;
  if (steps.size() == 0) return;
  mark_kinds(grid);
  mark_events(evidence, steps);
  mark_after(interruptions_of(evidence, steps), steps);
  mark_first_epoch(grid);
  mark_restarts(evidence, steps);
  // A tenth of the record at most. With few steps (epochs, evaluation blocks) that is the first one
  // only.
  const size_t n = steps.size();
  if (n >= 4 && from_the_start(steps))
    mark_until_settled(steps, usual_times(grid), 0, std::max<size_t>(1, n / 10), 3,
                       SegmentKind::warmup);
}

std::vector<size_t> steady_columns(const StepGrid& grid) {
  std::vector<size_t> columns;
  for (size_t c = 0; c < grid.columns(); ++c)
    if (grid.steps.segment[c] == SegmentKind::steady && grid.complete[c] != 0) columns.push_back(c);
  return columns;
}

}  // namespace firstwait
