#include "import/contradictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace firstwait {
namespace {

constexpr std::string_view kAll = "all inputs";
constexpr HealthCounter kOtherName{
    "job_of_another_name", Severity::error,
    "job.yaml names another job than every step does; give the job.yaml of these steps, or leave "
    "it away"};
constexpr HealthCounter kWorldSize{
    "impossible_world_size", Severity::error,
    "no job has as many ranks, and the number was left out; correct world_size in job.yaml"};
constexpr HealthCounter kLayout{"layout_contradicts_size", Severity::error,
                                "dp x tp x pp x cp is not world_size; correct job.yaml"};
constexpr HealthCounter kRankOutside{
    "rank_outside_world", Severity::error,
    "steps name ranks at or above world_size; correct world_size, or leave the other job's steps "
    "away"};
constexpr HealthCounter kSettings{
    "settings_disagree", Severity::error,
    "two settings of one process contradict each other, and the report may use either; keep the "
    "right one"};

// The instrumentation's bound too (collect/instrument/rings.cc): some eighty times the largest
// clusters there are.
constexpr int kMostRanks = 1 << 24;

void check_name(Evidence& e) {
  if (e.job.id.empty()) return;
  std::set<NameId> named;
  for (const NameId job : e.steps.job) {
    if (job == kNoName || e.names[job] == e.job.id) return;  // one that agrees is enough
    named.insert(job);
  }
  if (named.empty()) return;
  e.health.add(kAll, kOtherName, 1,
               fmt::format("job.yaml says {}, the steps say {}", e.job.id,
                           std::string(e.names[*named.begin()])));
}

void check_sizes(Evidence& e) {
  JobInfo& job = e.job;
  if (job.world_size > kMostRanks) {
    e.health.add(kAll, kWorldSize, 1, fmt::format("world_size: {}", job.world_size));
    job.world_size = -1;
  }
  if (job.world_size <= 0) return;
  if (job.dp > 0 && job.tp > 0 && job.pp > 0) {
    const double product = 1.0 * job.dp * job.tp * job.pp * std::max(job.cp, 1);
    if (product != job.world_size)
      e.health.add(kAll, kLayout, 1,
                   fmt::format("{} x {} x {} x {} is not {}", job.dp, job.tp, job.pp,
                               std::max(job.cp, 1), job.world_size));
  }
  std::set<int32_t> outside;
  for (const int32_t rank : e.steps.rank)
    if (rank >= job.world_size) outside.insert(rank);
  if (!outside.empty())
    e.health.add(kAll, kRankOutside, outside.size(),
                 fmt::format("rank {} of a world_size of {}", *outside.begin(), job.world_size));
}

// A rank's transports are several by nature, and a setting may change with time.
void check_settings(Evidence& e) {
  std::map<std::tuple<std::string_view, std::string_view, Ns>, const Setting*> first;
  for (const Setting& s : e.settings) {
    if (!s.entity.starts_with("rank/") && !s.entity.starts_with("process/")) continue;
    if (s.key.starts_with("nccl.")) continue;
    const auto [at, fresh] = first.try_emplace({s.entity, s.key, s.time}, &s);
    if (!fresh && at->second->value != s.value)
      e.health.add(s.source, kSettings, 1,
                   fmt::format("{} of {}: {}, but {} in {}", s.key, s.entity, s.value,
                               at->second->value, at->second->source));
  }
}

}  // namespace

void tell_contradictions(Evidence& evidence) {
  check_name(evidence);
  check_sizes(evidence);
  check_settings(evidence);
}

}  // namespace firstwait
