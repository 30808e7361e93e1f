#include "align/plausible.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "base/saturate.h"
#include "base/stats.h"

namespace firstwait {
namespace {

constexpr std::string_view kAll = "all inputs";
constexpr HealthCounter kImpossible{
    "impossible_value", Severity::error,
    "samples beyond what the metric can show were left out; check the exporter and its unit"};
constexpr HealthCounter kTooFast{
    "counter_too_fast", Severity::error,
    "counters of seconds that grow faster than time were left out; check whether series were added "
    "up or scaled, and the timestamps"};
constexpr HealthCounter kFalls{"counter_falls", Severity::error,
                               "counters that fall about as often as they grow were left out: two "
                               "sources under one name, or a "
                               "gauge; check the labels"};
constexpr HealthCounter kOtherUnit{
    "steps_of_another_unit", Severity::error,
    "the steps of a rank last a hundred times as long as the time between their starts, unlike "
    "those of other ranks; they were left out: write its durations in seconds"};
constexpr HealthCounter kBadPhases{
    "phases_left_out", Severity::error,
    "phases that add up to more than their step cannot be true and were left out: give each the "
    "seconds that the training thread spent in it alone, without what ran beside it"};

struct Bounds {
  std::string_view metric;
  double low, high;
};
// DCGM field identifiers: utilizations in per cent, profiling ratios of 1. Rounding and the
// sampling of the profiling counters may overshoot a little (kSlack).
constexpr double kSlack = 1.1;
constexpr Bounds kBounds[] = {
    {"DCGM_FI_DEV_GPU_UTIL", 0, 100},          {"DCGM_FI_DEV_MEM_COPY_UTIL", 0, 100},
    {"DCGM_FI_PROF_SM_ACTIVE", 0, 1},          {"DCGM_FI_PROF_SM_OCCUPANCY", 0, 1},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0, 1}, {"DCGM_FI_PROF_DRAM_ACTIVE", 0, 1},
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0, 1},   {"DCGM_FI_DEV_FB_USED", 0, INFINITY},
    {"DCGM_FI_DEV_FB_FREE", 0, INFINITY},      {"DCGM_FI_DEV_SM_CLOCK", 0, INFINITY},
    {"DCGM_FI_DEV_POWER_USAGE", 0, INFINITY}};

// Seconds in which something was so: one second each second at most, of one CPU, device or
// resource.
constexpr std::string_view kSecondsOfTime[] = {"node_cpu_seconds_total",
                                               "node_pressure_cpu_waiting_seconds_total",
                                               "node_pressure_memory_waiting_seconds_total",
                                               "node_pressure_memory_stalled_seconds_total",
                                               "node_pressure_io_waiting_seconds_total",
                                               "node_pressure_io_stalled_seconds_total",
                                               "node_disk_io_time_seconds_total"};

bool is_counter(std::string_view metric) {
  // A process group's counters fall whenever one of its processes ends.
  if (metric.starts_with("firstwait_process_")) return false;
  return metric.ends_with("_total") || metric == "node_netstat_Tcp_RetransSegs" ||
         metric == "node_netstat_Tcp_OutSegs" || metric.starts_with("node_netstat_TcpExt_") ||
         metric.starts_with("node_netstat_IpExt_") || metric == "node_vmstat_pgmajfault" ||
         metric == "node_vmstat_pswpin" || metric == "node_vmstat_pswpout";
}

bool one_of_many(const Evidence& evidence, const Series& s) {
  if (evidence.names[s.metric] != "node_cpu_seconds_total") return true;
  const NameId key = evidence.names.find("cpu");
  return key != kNoName && s.label(key) != kNoName;  // else all CPUs added up
}

bool grows_too_fast(const Series& s) {
  double sum = 0;
  for (size_t i = 1; i < s.value.size(); ++i) sum += std::max(0.0, s.value[i] - s.value[i - 1]);
  const double span = static_cast<double>(s.time.back() - s.time.front()) * 1e-9;
  return span > 0 && sum > kSlack * span;
}

// A counter that is reset falls once; a third of the intervals leaves no two in a row to trust.
bool falls_often(const Series& s) {
  constexpr size_t kLeastFalls = 3;
  size_t falls = 0;
  for (size_t i = 1; i < s.value.size(); ++i) falls += s.value[i] < s.value[i - 1] ? 1 : 0;
  return falls >= kLeastFalls && 3 * falls >= s.value.size() - 1;
}

size_t drop_outside(Series& s, double low, double high) {
  size_t kept = 0;
  for (size_t i = 0; i < s.value.size(); ++i) {
    if (s.value[i] < low || s.value[i] > high) continue;
    s.time[kept] = s.time[i];
    s.value[kept++] = s.value[i];
  }
  const size_t dropped = s.value.size() - kept;
  s.time.resize(kept);
  s.value.resize(kept);
  return dropped;
}

}  // namespace

void drop_impossible_samples(Evidence& evidence) {
  for (Series& s : evidence.series) {
    const std::string_view metric = evidence.names[s.metric];
    const auto count = [&](const HealthCounter& counter, size_t n) {
      if (n > 0)
        evidence.health.add(kAll, counter, n,
                            std::string(metric) + " of " + std::string(evidence.names[s.entity]));
    };
    const auto* bounds = std::find_if(std::begin(kBounds), std::end(kBounds),
                                      [metric](const Bounds& b) { return b.metric == metric; });
    const bool counter = is_counter(metric);
    if (bounds != std::end(kBounds))
      count(kImpossible, drop_outside(s, bounds->low, bounds->high * kSlack));
    else if (counter || metric.ends_with("_bytes"))
      count(kImpossible, drop_outside(s, 0, INFINITY));
    if (!counter || s.value.size() < 2) continue;
    const bool seconds = std::find(std::begin(kSecondsOfTime), std::end(kSecondsOfTime), metric) !=
                         std::end(kSecondsOfTime);
    const HealthCounter* broken = falls_often(s) ? &kFalls
                                  : seconds && one_of_many(evidence, s) && grows_too_fast(s)
                                      ? &kTooFast
                                      : nullptr;
    if (broken == nullptr) continue;
    count(*broken, s.value.size());
    s.time.clear();
    s.value.clear();
  }
  std::erase_if(evidence.series, [](const Series& s) { return s.value.empty(); });
}

namespace {

// What a step can hold: a duration that leaves some phases out (loading) ends before the next step
// begins.
Ns longest(const StepTable& t, size_t row) {
  const size_t next = row + 1;
  if (next == t.size() || t.rank[next] != t.rank[row] ||
      int64_t{t.step[next]} != int64_t{t.step[row]} + 1 || t.start[row] == kNoTime ||
      t.start[next] == kNoTime)
    return t.duration[row];
  return std::max(t.duration[row], sat_sub(t.start[next], t.start[row]));
}

}  // namespace

void drop_impossible_phases(StepTable& t, Health& health) {
  // DESIGN: what misses the step time by more than 5 % is inconclusive; phases are rounded to a
  // millisecond at the coarsest.
  constexpr Ns kTolerated = 20, kRounding = 500'000;
  size_t told = 0;
  std::vector<size_t> wrong;
  for (size_t row = 0; row < t.size(); ++row) {
    Ns sum = 0, rounding = 0;
    for (size_t p = 0; p < kPhases; ++p)
      if (const Ns v = t.phase(row, static_cast<Phase>(p)); v >= 0)
        sum = sat_add(sum, v), rounding += kRounding;
    told += rounding > 0 ? 1 : 0;
    const Ns most = longest(t, row);
    if (sum > sat_add(most, most / kTolerated + rounding)) wrong.push_back(row);
  }
  if (wrong.empty()) return;
  health.add(kAll, kBadPhases, wrong.size(),
             "rank " + std::to_string(t.rank[wrong.front()]) + ", step " +
                 std::to_string(t.step[wrong.front()]));
  if (2 * wrong.size() > told) {  // then the rest is of the same making
    for (auto& column : t.phases) column.clear();
    return;
  }
  for (const size_t row : wrong)
    for (size_t p = 0; p < kPhases; ++p)
      if (t.phase(row, static_cast<Phase>(p)) >= 0)
        t.set_phase(row, static_cast<Phase>(p), kNoDuration);
}

std::vector<size_t> steps_of_one_unit(const StepTable& t, Health& health) {
  constexpr double kOther = 100;  // the units in use, s, ms, us and ns, lie a thousandfold apart
  std::map<int32_t, std::vector<double>> per_rank;  // duration / time to the next start
  for (size_t i = 0; i + 1 < t.size(); ++i)
    if (t.rank[i] == t.rank[i + 1] && t.start[i] != kNoTime && t.start[i + 1] > t.start[i])
      per_rank[t.rank[i]].push_back(
          static_cast<double>(t.duration[i]) /
          (static_cast<double>(t.start[i + 1]) - static_cast<double>(t.start[i])));
  std::set<int32_t> other;
  for (auto& [rank, ratios] : per_rank)
    if (median(std::move(ratios)) >= kOther) other.insert(rank);
  // Where all are alike it may as well be the starts.
  if (other.size() == per_rank.size()) other.clear();
  std::vector<size_t> rows;
  for (size_t i = 0; i < t.size(); ++i)
    if (!other.contains(t.rank[i])) rows.push_back(i);
  if (!other.empty())
    health.add(kAll, kOtherUnit, t.size() - rows.size(), "rank/" + std::to_string(*other.begin()));
  return rows;
}

}  // namespace firstwait
