#include "align/clocks.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <tuple>

#include "base/saturate.h"
#include "base/stats.h"

namespace firstwait {
namespace {

constexpr HealthCounter kSkew{
    "clock_skew", Severity::info,
    "clocks of ranks differ; times were shifted by the ends of their all-reduces"};
constexpr HealthCounter kUnaligned{"clocks_not_aligned", Severity::info,
                                   "no device-side all-reduce is shared with the other ranks: "
                                   "these are compared by duration only"};
constexpr HealthCounter kRelative{"relative_times", Severity::info,
                                  "times without a date were put beside the others by step order"};

struct Difference {
  double ns = 0, uncertainty = 0;
  size_t n = 0;
};

// Ends of one rank's all-reduces by what identifies an instance.
using Instance = std::tuple<NameId, int32_t, int64_t>;  // group, step, seq
using Ends = std::map<Instance, Ns>;

std::map<int32_t, Ends> all_reduce_ends(const Evidence& evidence) {
  const CollectiveTable& table = evidence.collectives;
  std::map<int32_t, Ends> ends;
  std::map<std::tuple<int32_t, NameId, int32_t>, int64_t>
      order;  // where records carry no sequence number
  std::vector<bool> is_all_reduce(evidence.names.size());
  for (size_t id = 0; id < is_all_reduce.size(); ++id) {
    const std::string_view op = evidence.names[static_cast<NameId>(id)];
    is_all_reduce[id] = op == "all_reduce" || op == "allreduce" || op == "allreduce_coalesced";
  }
  for (size_t i = 0; i < table.size(); ++i) {
    if (table.on_device[i] == 0 || !is_all_reduce[table.op[i]] || table.duration[i] < 0) continue;
    int64_t seq = table.seq[i];
    if (seq < 0) {
      if (table.step[i] < 0)
        continue;  // neither a number nor a step: which instance it is cannot be known
      seq = -1 - order[{table.rank[i], table.group[i], table.step[i]}]++;
    }
    ends[table.rank[i]][{table.group[i], table.step[i], seq}] =
        sat_add(table.start[i], table.duration[i]);
  }
  return ends;
}

// Median of reference end - own end. The uncertainty is the 95 % half width of that median (1.96
// * 1.2533 sigma / sqrt(n), the asymptotic efficiency of the median), never below the 1 us that
// traces resolve.
Difference difference(const Ends& reference, const Ends& own) {
  std::vector<double> ns;
  for (auto a = reference.begin(), b = own.begin(); a != reference.end() && b != own.end();) {
    if (a->first < b->first) {
      ++a;
    } else if (b->first < a->first) {
      ++b;
    } else {
      ns.push_back(static_cast<double>(sat_sub(a->second, b->second)));
      ++a, ++b;
    }
  }
  Difference d;
  d.n = ns.size();
  if (ns.empty()) return d;
  d.ns = median(ns);
  for (double& x : ns) x = std::abs(x - d.ns);
  const double sigma = 1.4826 * median(ns);
  d.uncertainty =
      d.n < 2 ? 1e6  // one end proves little: NTP keeps 1 ms at best
              : std::max(1000.0, 1.96 * 1.2533 * sigma / std::sqrt(static_cast<double>(d.n)));
  return d;
}

Ns clamp_ns(double ns) { return static_cast<Ns>(std::clamp(ns, -4e18, 4e18)); }

// Breadth first from the lowest rank, so that ranks which share no group with it are reached
// through others.
std::set<int32_t> from_all_reduces(Evidence& evidence, const std::map<int32_t, Ends>& ends) {
  std::set<int32_t> reached;
  if (ends.size() < 2) return reached;
  std::map<NameId, std::vector<int32_t>> members;
  for (const auto& [rank, instances] : ends)
    for (const auto& [instance, end] : instances) {
      auto& list = members[std::get<0>(instance)];
      if (list.empty() || list.back() != rank) list.push_back(rank);
    }
  std::deque<int32_t> queue{ends.begin()->first};
  reached.insert(queue.front());
  while (!queue.empty()) {
    const int32_t from = queue.front();
    queue.pop_front();
    const RankInfo base = evidence.rank(from);
    std::set<NameId> groups;
    for (const auto& [instance, end] : ends.at(from)) groups.insert(std::get<0>(instance));
    for (const NameId group : groups) {
      for (const int32_t to : members[group]) {
        if (reached.contains(to)) continue;
        const Difference d = difference(ends.at(from), ends.at(to));
        if (d.n == 0) continue;
        RankInfo& info = evidence.rank(to);
        info.clock_offset =
            std::clamp(sat_add(base.clock_offset, clamp_ns(d.ns)), -INT64_MAX, INT64_MAX);
        info.clock_uncertainty = sat_add(base.clock_uncertainty, clamp_ns(d.uncertainty));
        reached.insert(to);
        queue.push_back(to);
      }
    }
  }
  return reached;
}

// One clock per host: the median of its ranks' offsets, with the smallest of their uncertainties.
void share_by_host(Evidence& evidence, std::set<int32_t>& reached) {
  std::map<std::string, std::vector<int32_t>> hosts;
  for (const auto& [rank, info] : evidence.ranks)
    if (!info.host.empty() && !info.relative_time) hosts[info.host].push_back(rank);
  for (const auto& [host, ranks] : hosts) {
    std::vector<int64_t> offsets;
    Ns uncertainty = INT64_MAX;
    for (const int32_t rank : ranks)
      if (reached.contains(rank)) {
        offsets.push_back(evidence.ranks[rank].clock_offset);
        uncertainty = std::min(uncertainty, evidence.ranks[rank].clock_uncertainty);
      }
    if (offsets.empty()) continue;
    const Ns offset = median_int(offsets);
    for (const int32_t rank : ranks) {
      evidence.ranks[rank].clock_offset = offset;
      evidence.ranks[rank].clock_uncertainty = uncertainty;
      reached.insert(rank);
    }
  }
}

using StepEnds = std::map<int32_t, Ns>;

// The median difference of step ends puts a rank without a date beside the reference; a step time
// is the uncertainty.
bool by_step_order(Evidence& evidence, const std::set<int32_t>& reached) {
  const StepTable& steps = evidence.steps;
  std::map<int32_t, StepEnds> ends;
  std::vector<int64_t> durations;
  bool any_relative = false;
  for (const auto& [rank, info] : evidence.ranks)
    any_relative |= info.relative_time && !reached.contains(rank);
  if (!any_relative) return false;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps.start[i] == kNoTime || steps.duration[i] < 0) continue;
    ends[steps.rank[i]][steps.step[i]] = sat_add(steps.start[i], steps.duration[i]);
    durations.push_back(steps.duration[i]);
  }
  int32_t reference = -1;
  for (const auto& [rank, e] : ends)
    if (!evidence.rank(rank).relative_time) {
      reference = rank;
      break;
    }
  if (reference < 0 && !ends.empty()) reference = ends.begin()->first;
  bool shifted = false;
  for (const auto& [rank, own] : ends) {
    RankInfo& info = evidence.rank(rank);
    if (rank == reference || !info.relative_time || reached.contains(rank)) continue;
    std::vector<int64_t> differences;
    for (const auto& [step, end] : own)
      if (const auto other = ends[reference].find(step); other != ends[reference].end())
        differences.push_back(sat_sub(other->second, end));
    if (differences.empty()) continue;
    info.clock_offset = std::max(median_int(std::move(differences)), -INT64_MAX);
    info.clock_uncertainty = median_int(durations);
    shifted = true;
  }
  return shifted;
}

}  // namespace

void align_clocks(Evidence& evidence) {
  const auto ends = all_reduce_ends(evidence);
  std::set<int32_t> reached = from_all_reduces(evidence, ends);
  const size_t directly = reached.size();
  if (!reached.empty()) share_by_host(evidence, reached);
  if (by_step_order(evidence, reached)) evidence.health.add("all inputs", kRelative);
  uint64_t skewed = 0, left = 0;
  for (const auto& [rank, info] : evidence.ranks) {
    // Five uncertainties: the normal 95 % half width is two sigma, so this is far beyond chance.
    if (reached.contains(rank) && std::abs(info.clock_offset) > 1'000'000 &&
        std::abs(info.clock_offset) / 5 > info.clock_uncertainty)
      ++skewed;
  }
  if (directly > 0)
    for (const auto& [rank, instances] : ends) left += reached.contains(rank) ? 0 : 1;
  if (skewed > 0) evidence.health.add("all inputs", kSkew, skewed);
  if (left > 0) evidence.health.add("all inputs", kUnaligned, left);
}

}  // namespace firstwait
