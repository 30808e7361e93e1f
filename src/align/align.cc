#include "align/align.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "align/clocks.h"
#include "align/continuity.h"
#include "align/flight_recorder.h"
#include "align/gpu_names.h"
#include "align/plausible.h"
#include "base/saturate.h"

namespace firstwait {
namespace {

constexpr std::string_view kAll = "all inputs";
constexpr HealthCounter kOtherJob{"other_jobs", Severity::info,
                                  "rows of other jobs were left out; choose one with --job"};
constexpr HealthCounter kNoSuchJob{
    "job_not_found", Severity::error,
    "no row carries the job named with --job; all rows were left out"};
constexpr HealthCounter kOutside{"outside_window", Severity::info,
                                 "rows before --since or after --until were left out"};
constexpr HealthCounter kDuplicate{"duplicate_rows", Severity::info,
                                   "the same row was read more than once and counted once"};
constexpr HealthCounter kSecondSource{
    "two_sources", Severity::info,
    "two inputs tell of the same step of a rank; the one that says more was kept"};
constexpr HealthCounter kRestart{"restarted_steps", Severity::info,
                                 "steps were run again after a restart; the last attempt was kept"};
constexpr HealthCounter kBadDuration{
    "negative_duration", Severity::data_loss,
    "rows with a negative duration were left out; check the clock of the source"};

template <typename T>
void gather(std::vector<T>& column, const std::vector<size_t>& rows) {
  if (column.empty()) return;
  std::vector<T> picked;
  picked.reserve(rows.size());
  for (const size_t row : rows) picked.push_back(column[row]);
  column = std::move(picked);
}

void keep_rows(StepTable& t, const std::vector<size_t>& rows) {
  gather(t.job, rows), gather(t.rank, rows), gather(t.step, rows), gather(t.start, rows);
  gather(t.kind, rows), gather(t.epoch, rows), gather(t.duration, rows);
  for (auto& column : t.phases) gather(column, rows);
  for (auto& column : t.loader) gather(column, rows);
  for (auto* column :
       {&t.loader_workers, &t.loader_queued, &t.samples, &t.tokens, &t.bytes, &t.loss})
    gather(*column, rows);
}

void keep_rows(SpanTable& t, const std::vector<size_t>& rows) {
  gather(t.duration, rows), gather(t.rank, rows), gather(t.step, rows), gather(t.op, rows);
  gather(t.phase, rows), gather(t.lane, rows), gather(t.thread, rows), gather(t.bytes, rows);
  gather(t.start, rows);
}

void keep_rows(CollectiveTable& t, const std::vector<size_t>& rows) {
  gather(t.rank, rows), gather(t.step, rows), gather(t.group, rows), gather(t.op, rows);
  gather(t.seq, rows), gather(t.duration, rows), gather(t.bytes, rows), gather(t.on_device, rows);
  gather(t.start, rows);
}

std::vector<size_t> all_rows(size_t n) {
  std::vector<size_t> rows(n);
  std::iota(rows.begin(), rows.end(), size_t{0});
  return rows;
}

// Rows that name no job belong to whichever is chosen.
void choose_job(Evidence& evidence, const std::string& wanted) {
  std::map<NameId, size_t> count;
  for (const NameId job : evidence.steps.job)
    if (job != kNoName) ++count[job];
  if (count.empty()) return;
  NameId chosen = evidence.names.find(wanted);
  if (wanted.empty()) {
    const auto most =
        std::max_element(count.begin(), count.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;  // the first of equals
        });
    chosen = most->first;
  } else if (chosen == kNoName || !count.contains(chosen)) {
    evidence.health.add(kAll, kNoSuchJob);
    chosen = UINT32_MAX;
  }
  std::vector<size_t> rows;
  for (size_t i = 0; i < evidence.steps.size(); ++i)
    if (const NameId job = evidence.steps.job[i];
        job == kNoName ? chosen != UINT32_MAX : job == chosen)
      rows.push_back(i);
  if (const size_t left = evidence.steps.size() - rows.size(); left > 0) {
    evidence.health.add(kAll, kOtherJob, left);
    keep_rows(evidence.steps, rows);
  }
  if (chosen != UINT32_MAX && (evidence.job.id.empty() || !wanted.empty() || count.size() > 1))
    evidence.job.id = evidence.names[chosen];
}

bool inside(Ns start, Ns duration, Ns since, Ns until) {
  if (start == kNoTime) return true;
  if (since != kNoTime && sat_add(start, std::max<Ns>(duration, 0)) < since) return false;
  return until == kNoTime || start <= until;
}

template <typename Table>
uint64_t cut(Table& table, Ns since, Ns until) {
  std::vector<size_t> rows;
  for (size_t i = 0; i < table.size(); ++i)
    if (inside(table.start[i], table.duration[i], since, until)) rows.push_back(i);
  const uint64_t left = table.size() - rows.size();
  if (left > 0) keep_rows(table, rows);
  return left;
}

void choose_window(Evidence& evidence, Ns since, Ns until) {
  if (since == kNoTime && until == kNoTime) return;
  uint64_t left = cut(evidence.steps, since, until) + cut(evidence.spans, since, until) +
                  cut(evidence.collectives, since, until);
  for (Series& series : evidence.series) {
    size_t kept = 0;
    for (size_t i = 0; i < series.time.size(); ++i) {
      if (!inside(series.time[i], 0, since, until)) continue;
      series.time[kept] = series.time[i];
      series.value[kept++] = series.value[i];
    }
    left += series.time.size() - kept;
    series.time.resize(kept);
    series.value.resize(kept);
  }
  // What was set or happened before the window still holds in it; what came after does not yet.
  const auto later = [&](Ns time) { return until != kNoTime && time != kNoTime && time > until; };
  left += std::erase_if(evidence.settings, [&](const Setting& s) { return later(s.time); });
  left += std::erase_if(evidence.events, [&](const Event& e) { return later(e.start); });
  if (left > 0) evidence.health.add(kAll, kOutside, left);
}

// How much a row says: recorded phases count most.
int richness(const StepTable& t, size_t row) {
  int n = t.start[row] != kNoTime ? 1 : 0;
  for (size_t p = 0; p < kPhases; ++p) n += t.phase(row, static_cast<Phase>(p)) > 0 ? 2 : 0;
  for (size_t w = 0; w < kLoaderWorks; ++w)
    n += t.loader_time(row, static_cast<LoaderWork>(w)) >= 0;
  return n;
}

// True when the two rows tell of the same moment: then they are two accounts of it, not two
// attempts.
bool same_moment(const StepTable& t, size_t a, size_t b) {
  if (t.start[a] == kNoTime || t.start[b] == kNoTime) return false;
  return t.start[a] <= sat_add(t.start[b], t.duration[b]) &&
         t.start[b] <= sat_add(t.start[a], t.duration[a]);
}

// Two sources, whatever their clocks say: a program that restarts tells as much as before.
bool two_accounts(const StepTable& t, size_t a, size_t b) {
  const auto phases = [&t](size_t row) {
    for (size_t p = 0; p < kPhases; ++p)
      if (t.phase(row, static_cast<Phase>(p)) > 0) return true;
    return false;
  };
  return same_moment(t, a, b) || phases(a) != phases(b) ||
         (t.start[a] == kNoTime) != (t.start[b] == kNoTime);
}

// What the poorer account of a step tells beside its time.
void add_numbers(StepTable& t, size_t into, size_t from) {
  for (auto* column : {&t.samples, &t.tokens, &t.bytes, &t.loss})
    if (const double v = StepTable::number(*column, from);
        v == v && StepTable::number(*column, into) != StepTable::number(*column, into))
      t.set_number(*column, into, v);
  if (t.epoch[into] < 0) t.epoch[into] = t.epoch[from];
}

struct Kept {
  std::vector<size_t> rows;
  std::map<int32_t, Ns> restarts;  // first repeated step -> when its last attempt began
  uint64_t duplicates = 0, second_source = 0, restarted = 0;
  std::string first_second;  // where two inputs tell of the same
};

// `rows` is in order of (rank, step, start, reading order). The last attempt of a step wins.
Kept last_attempts(StepTable& t, const std::vector<size_t>& rows) {
  Kept kept;
  bool in_restart = false;
  int32_t rank = -1;
  for (size_t i = 0; i < rows.size();) {
    size_t best = rows[i], j = i + 1;
    bool repeated = false;
    if (t.rank[best] != rank) in_restart = false;
    rank = t.rank[best];
    for (; j < rows.size() && t.rank[rows[j]] == rank && t.step[rows[j]] == t.step[best]; ++j) {
      const size_t next = rows[j];
      if (t.kind[next] !=
          t.kind[best]) {  // an evaluation beside the training step of the same number
        kept.rows.push_back(best);
        best = next;
      } else if (t.start[next] == t.start[best] && t.duration[next] == t.duration[best]) {
        ++kept.duplicates;
        if (richness(t, next) > richness(t, best)) best = next;
      } else if (two_accounts(t, best, next)) {
        const size_t other =
            richness(t, next) > richness(t, best) ? std::exchange(best, next) : next;
        if (kept.second_source++ == 0)
          kept.first_second =
              fmt::format("rank {}, step {}: {:.4g} s kept, {:.4g} s left out", rank, t.step[best],
                          static_cast<double>(t.duration[best]) * 1e-9,
                          static_cast<double>(t.duration[other]) * 1e-9);
        add_numbers(t, best, other);
      } else {
        ++kept.restarted;
        repeated = true;
        best = next;
      }
    }
    kept.rows.push_back(best);
    if (repeated && !in_restart) {
      auto [at, fresh] = kept.restarts.try_emplace(t.step[best], t.start[best]);
      if (!fresh && at->second == kNoTime) at->second = t.start[best];
    }
    in_restart = repeated;
    i = j;
  }
  return kept;
}

void order_steps(Evidence& evidence) {
  StepTable& t = evidence.steps;
  std::vector<size_t> rows;
  for (size_t i = 0; i < t.size(); ++i)
    if (t.duration[i] >= 0) rows.push_back(i);
  if (rows.size() < t.size()) evidence.health.add(kAll, kBadDuration, t.size() - rows.size());
  std::stable_sort(rows.begin(), rows.end(), [&t](size_t a, size_t b) {
    return std::tie(t.rank[a], t.step[a], t.start[a]) < std::tie(t.rank[b], t.step[b], t.start[b]);
  });
  const Kept kept = last_attempts(t, rows);
  keep_rows(t, kept.rows);
  if (kept.duplicates > 0) evidence.health.add(kAll, kDuplicate, kept.duplicates);
  if (kept.second_source > 0)
    evidence.health.add(kAll, kSecondSource, kept.second_source, kept.first_second);
  if (kept.restarted > 0) evidence.health.add(kAll, kRestart, kept.restarted);
  for (const auto& [step, time] : kept.restarts) {
    Event event{"restart", "job/" + evidence.job.id,         time,
                time,      {{"step", std::to_string(step)}}, std::string(kAll)};
    evidence.events.push_back(std::move(event));
  }
}

void order_collectives(CollectiveTable& t) {
  std::vector<size_t> rows = all_rows(t.size());
  std::stable_sort(rows.begin(), rows.end(), [&t](size_t a, size_t b) {
    return std::tie(t.rank[a], t.start[a]) < std::tie(t.rank[b], t.start[b]);
  });
  keep_rows(t, rows);
}

// One series per (metric, entity, labels), in time order, each sample once. Counter resets stay as
// they are.
void order_series(Evidence& evidence) {
  std::map<std::tuple<NameId, NameId, std::vector<std::pair<NameId, NameId>>>, size_t> known;
  std::vector<Series> merged;
  uint64_t duplicates = 0;
  for (Series& series : evidence.series) {
    const size_t n = std::min(series.time.size(), series.value.size());
    series.time.resize(n);
    series.value.resize(n);
    const auto [at, fresh] =
        known.try_emplace({series.metric, series.entity, series.labels}, merged.size());
    if (fresh) {
      merged.push_back(std::move(series));
    } else {
      Series& into = merged[at->second];
      into.time.insert(into.time.end(), series.time.begin(), series.time.end());
      into.value.insert(into.value.end(), series.value.begin(), series.value.end());
    }
  }
  for (Series& series : merged) {
    std::vector<size_t> rows = all_rows(series.time.size());
    if (!std::is_sorted(series.time.begin(), series.time.end()))
      std::stable_sort(rows.begin(), rows.end(),
                       [&series](size_t a, size_t b) { return series.time[a] < series.time[b]; });
    std::vector<size_t> unique;
    for (const size_t row : rows)
      if (!unique.empty() && series.time[unique.back()] == series.time[row] &&
          series.value[unique.back()] == series.value[row])
        ++duplicates;
      else
        unique.push_back(row);
    gather(series.value, unique);
    gather(series.time, unique);
  }
  evidence.series = std::move(merged);
  if (duplicates > 0) evidence.health.add(kAll, kDuplicate, duplicates);
}

}  // namespace

void align(Evidence& evidence, const AlignOptions& options) {
  join_gpu_names(evidence);
  choose_job(evidence, options.job);
  choose_window(evidence, options.since, options.until);
  order_steps(evidence);
  if (const auto rows = steps_of_one_unit(evidence.steps, evidence.health);
      rows.size() < evidence.steps.size())
    keep_rows(evidence.steps, rows);
  drop_impossible_phases(evidence.steps, evidence.health);
  order_collectives(evidence.collectives);
  order_series(evidence);
  drop_impossible_samples(evidence);
  std::stable_sort(evidence.events.begin(), evidence.events.end(),
                   [](const Event& a, const Event& b) { return a.start < b.start; });
  for (const int32_t rank :
       std::set<int32_t>(evidence.steps.rank.begin(), evidence.steps.rank.end()))
    evidence.rank(rank);
  align_clocks(evidence);
  check_continuity(evidence);
  match_flight_records(evidence);
}

}  // namespace firstwait
