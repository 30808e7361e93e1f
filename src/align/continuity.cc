#include "align/continuity.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/saturate.h"
#include "base/stats.h"
#include "base/text.h"
#include "model/step_times.h"

namespace firstwait {
namespace {

constexpr std::string_view kAll = "all inputs";
constexpr HealthCounter kOverlap{
    "overlapping_steps", Severity::info,
    "steps begin before the one before has ended; if they are not pipelined, check what starts and "
    "ends them in the record"};
constexpr HealthCounter kBackwards{
    "steps_run_backwards", Severity::data_loss,
    "steps begin earlier than steps of a lower number; check the step numbers and the clock of the "
    "source"};
constexpr HealthCounter kStops{"rank_stops_early", Severity::data_loss,
                               "ranks tell of no step to the end while the others go on; add the "
                               "rest of their records, or see "
                               "whether they left the job"};
constexpr HealthCounter kApart{
    "clocks_apart", Severity::error,
    "clocks of ranks differ by more than the whole record lasts: times of their hosts cannot be "
    "matched; set the clocks (NTP, chrony)"};

struct StepTime {
  int32_t rank, step;
  Ns start, end;
};

bool training(StepKind kind) { return kind == StepKind::train || kind == StepKind::warmup; }

// Training steps with their times, by rank and number: of the step rows, or else of the spans that
// carry their step.
std::vector<StepTime> step_times(const Evidence& evidence) {
  std::vector<StepTime> out;
  const StepTable& t = evidence.steps;
  for (size_t i = 0; i < t.size(); ++i)
    if (t.start[i] != kNoTime && training(t.kind[i]))
      out.push_back({t.rank[i], t.step[i], t.start[i], sat_add(t.start[i], t.duration[i])});
  if (t.size() > 0) return out;
  const SpanTable& s = evidence.spans;
  std::vector<size_t> rows;
  for (size_t i = 0; i < s.size(); ++i)
    if (s.step[i] >= 0 && s.lane[i] == Lane::main_thread && s.start[i] != kNoTime &&
        s.duration[i] >= 0)
      rows.push_back(i);
  std::sort(rows.begin(), rows.end(), [&s](size_t a, size_t b) {
    return std::tie(s.rank[a], s.step[a], s.start[a]) < std::tie(s.rank[b], s.step[b], s.start[b]);
  });
  for (const size_t i : rows) {
    const Ns end = sat_add(s.start[i], s.duration[i]);
    if (!out.empty() && out.back().rank == s.rank[i] && out.back().step == s.step[i])
      out.back().end = std::max(out.back().end, end);
    else
      out.push_back({s.rank[i], s.step[i], s.start[i], end});
  }
  return out;
}

struct Order {
  uint64_t overlap = 0, backwards = 0;
  std::string first_overlap, first_backwards;
};

// `rows` are those of one rank. A stamp tells the unit in which a start lies, and a duration is
// rounded: only what neither can explain is an overlap.
void check_rank(const std::vector<StepTime>& steps, const std::vector<size_t>& rows, Order& order) {
  constexpr Ns kJitter = 1'000'000;  // of clocks that are set while the job runs
  const auto start = [&steps](size_t i) { return steps[i].start; };
  const auto end = [&steps](size_t i) { return steps[i].end; };
  const auto lasting = [&steps](size_t i) { return sat_sub(steps[i].end, steps[i].start); };
  const Ns stamp = std::max(resolution(rows, start), resolution(rows, end));
  const Ns rounding = resolution(rows, lasting) / 2;
  Ns earliest = start(rows.front());
  for (size_t k = 1; k < rows.size(); ++k) {
    const StepTime &a = steps[rows[k - 1]], &b = steps[rows[k]];
    const Ns least = std::max<Ns>(0, lasting(rows[k - 1]) - rounding);
    const Ns latest = sat_add(b.start, stamp), done = sat_add(earliest, least);
    earliest = std::min(std::max(done, b.start), latest);
    const auto place = [&b] { return fmt::format("rank {}, step {}", b.rank, b.step); };
    if (b.start < a.start) {
      if (order.backwards++ == 0) order.first_backwards = place();
      earliest = b.start;
    } else if (sat_sub(done, latest) > std::max(kJitter, least / 10)) {
      if (order.overlap++ == 0) order.first_overlap = place();
    }
  }
}

void check_order(const std::vector<StepTime>& steps, Health& health) {
  Order order;
  for (size_t from = 0, to = 0; from < steps.size(); from = to) {
    std::vector<size_t> rows;
    for (; to < steps.size() && steps[to].rank == steps[from].rank; ++to) rows.push_back(to);
    check_rank(steps, rows, order);
  }
  if (order.overlap > 0) health.add(kAll, kOverlap, order.overlap, order.first_overlap);
  if (order.backwards > 0) health.add(kAll, kBackwards, order.backwards, order.first_backwards);
}

// Time of saves and evaluations between two times.
Ns told_between(const Evidence& evidence, Ns from, Ns to) {
  Ns sum = 0;
  for (const Event& event : evidence.events)
    if ((event.kind == "checkpoint" || event.kind == "evaluation") && event.start != kNoTime &&
        event.end != kNoTime)
      sum = sat_add(sum,
                    std::max<Ns>(0, sat_sub(std::min(to, event.end), std::max(from, event.start))));
  return sum;
}

void find_stops(Evidence& evidence) {
  const StepTable& t = evidence.steps;
  std::map<int32_t, Ns> stops;  // first step behind the stop -> its start
  std::set<int32_t> known;
  for (const Event& event : evidence.events)
    if (event.kind == "restart")
      if (const auto step = parse_int(event.attribute("step"));
          step && *step >= INT32_MIN && *step <= INT32_MAX)
        known.insert(static_cast<int32_t>(*step));
  for (size_t i = 1; i < t.size(); ++i) {
    if (t.rank[i] != t.rank[i - 1] || t.start[i] == kNoTime || t.start[i - 1] == kNoTime ||
        !training(t.kind[i]) || !training(t.kind[i - 1]) ||
        int64_t{t.step[i]} != int64_t{t.step[i - 1]} + 1)
      continue;
    const Ns end = sat_add(t.start[i - 1], t.duration[i - 1]), gap = sat_sub(t.start[i], end);
    if (gap <= kLongestPause || gap <= t.duration[i - 1] || known.contains(t.step[i]) ||
        stops.contains(t.step[i]) || told_between(evidence, end, t.start[i]) >= gap / 2)
      continue;
    stops[t.step[i]] = t.start[i];
  }
  for (const auto& [step, time] : stops)
    evidence.events.push_back({"restart",
                               "job/" + evidence.job.id,
                               time,
                               time,
                               {{"step", std::to_string(step)}},
                               std::string(kAll)});
}

// Rows of a log that give the mean step of a longer stretch: what follows is the rest of it.
bool tells_means(const Evidence& evidence) {
  return std::any_of(evidence.settings.begin(), evidence.settings.end(), [](const Setting& s) {
    return s.key == "log.row" && s.value.starts_with("mean");
  });
}

struct Gap {
  Ns from = INT64_MAX, to = INT64_MIN;
  Ns least = INT64_MAX;  // of all ranks
};

// The job stood still once, or twice, as long as no step of it lasts: a restart that left no other
// trace, a hung file system, a suspended machine. What comes more often is a habit of the job and
// belongs to its steps.
void find_lone_pauses(Evidence& evidence) {
  // A launcher that starts ranks again waits that long for the last of them (last_call_timeout of
  // torch.distributed.elastic); nothing that a step does takes ten steps.
  constexpr Ns kShortest = 30'000'000'000, kSteps = 10;
  constexpr size_t kLone = 2;
  const StepTable& t = evidence.steps;
  if (tells_means(evidence)) return;
  std::vector<int64_t> durations;
  std::map<int32_t, Gap> gaps;  // by the step behind it
  for (size_t i = 0; i < t.size(); ++i) {
    if (!training(t.kind[i])) continue;
    durations.push_back(t.duration[i]);
    if (i == 0 || t.rank[i] != t.rank[i - 1] || t.start[i] == kNoTime ||
        t.start[i - 1] == kNoTime || !training(t.kind[i - 1]) ||
        int64_t{t.step[i]} != int64_t{t.step[i - 1]} + 1)
      continue;
    const Ns end = sat_add(t.start[i - 1], t.duration[i - 1]);
    Gap& gap = gaps[t.step[i]];
    gap.from = std::min(gap.from, end);
    gap.to = std::max(gap.to, t.start[i]);
    gap.least = std::min(gap.least, sat_sub(t.start[i], end));
  }
  if (durations.empty()) return;
  const Ns least =
      std::max(kShortest, kSteps * std::min(median_int(std::move(durations)), kLongestPause));
  std::erase_if(gaps, [&](const auto& g) {
    const Gap& gap = g.second;
    return gap.least < least || gap.least > kLongestPause ||
           told_between(evidence, gap.from, gap.to) >= gap.least / 2;
  });
  if (gaps.size() > kLone) return;
  for (const auto& [step, gap] : gaps)
    evidence.events.push_back({"pause",
                               "job/" + evidence.job.id,
                               gap.from,
                               gap.to,
                               {{"step", std::to_string(step)}},
                               std::string(kAll)});
}

void check_ranks(const std::vector<StepTime>& steps, Health& health) {
  std::map<int32_t, int32_t> last;
  int32_t first = INT32_MAX, end = INT32_MIN;
  for (const StepTime& s : steps) {
    last[s.rank] = s.step;
    first = std::min(first, s.step);
    end = std::max(end, s.step);
  }
  // Records of ranks are not cut at the same step: a twentieth, and several steps, is more.
  const int64_t slack = std::max<int64_t>(5, (int64_t{end} - first) / 20);
  uint64_t early = 0;
  std::string place;
  for (const auto& [rank, step] : last) {
    if (int64_t{end} - step <= slack) continue;
    if (early++ == 0) place = fmt::format("rank {} after step {}", rank, step);
  }
  if (early > 0 && 2 * early < last.size()) health.add(kAll, kStops, early, place);
}

void check_clocks(const Evidence& evidence, const std::vector<StepTime>& steps, Health& health) {
  struct Range {
    Ns first = INT64_MAX, last = INT64_MIN;
    int32_t from = INT32_MAX, to = INT32_MIN;
  };
  std::map<int32_t, Range> ranges;
  for (const StepTime& s : steps) {
    const auto info = evidence.ranks.find(s.rank);
    const Ns offset = info == evidence.ranks.end() ? 0 : info->second.clock_offset;
    Range& r = ranges[s.rank];
    r.first = std::min(r.first, sat_add(s.start, offset));
    r.last = std::max(r.last, sat_add(s.end, offset));
    r.from = std::min(r.from, s.step);
    r.to = std::max(r.to, s.step);
  }
  if (ranges.size() < 2) return;
  const Range& first = ranges.begin()->second;
  uint64_t apart = 0;
  std::string place;
  for (const auto& [rank, r] : ranges) {
    const Ns gap = std::max(sat_sub(r.first, first.last), sat_sub(first.first, r.last));
    // The same steps at times that have nothing in common.
    if (gap <= 0 || r.from > first.to || first.from > r.to) continue;
    if (apart++ == 0) place = fmt::format("rank {} by {} s", rank, gap / 1'000'000'000);
  }
  if (apart > 0) health.add(kAll, kApart, apart, place);
}

}  // namespace

void check_continuity(Evidence& evidence) {
  const std::vector<StepTime> steps = step_times(evidence);
  check_order(steps, evidence.health);
  check_ranks(steps, evidence.health);
  check_clocks(evidence, steps, evidence.health);
  find_stops(evidence);
  find_lone_pauses(evidence);
}

}  // namespace firstwait
