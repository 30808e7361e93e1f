// Weights: the busiest rank sends more in the all-to-alls than their balancing is meant to allow,
// and time is lost in communication.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"
#include "explain/placing.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::collective, Phase::p2p};
constexpr std::string_view kNeeds[] = {"all-to-all collectives with their bytes per rank"};
constexpr Threshold kLoad{
    "busiest rank against the mean", 1.25, "ratio",
    "Switch Transformers (arXiv 2101.03961): capacity factor 1.25 absorbs the usual imbalance"};
constexpr Threshold kThresholds[] = {kRelevantShare, kLoad, kCounted};

Verdict test(const View& view) {
  const CollectiveTable& t = view.evidence.collectives;
  if (t.size() == 0) return untested({kNeeds[0]});
  Weighing w;
  std::vector<uint8_t> exchange(view.evidence.names.size());
  for (size_t n = 0; n < exchange.size(); ++n) {
    const auto text = view.evidence.names[static_cast<NameId>(n)];
    exchange[n] = contains_ignoring_case(text, "all_to_all") ||
                          contains_ignoring_case(text, "alltoall") ||
                          contains_ignoring_case(text, "all-to-all")
                      ? 1
                      : 0;
  }
  struct Sizes {
    double sum = 0, most = 0;
    size_t ranks = 0;
    int32_t who = -1;
  };
  std::map<std::tuple<NameId, int32_t, int64_t>, Sizes> instances;
  size_t seen = 0;
  for (size_t i = 0; i < t.size(); ++i) {
    if (exchange[t.op[i]] == 0) continue;
    ++seen;
    if (t.bytes[i] < 0 || t.seq[i] < 0) continue;
    auto& s = instances[{t.group[i], t.step[i], t.seq[i]}];
    const auto size = static_cast<double>(t.bytes[i]);
    s.sum += size;
    ++s.ranks;
    if (size > s.most) {
      s.most = size;
      s.who = t.rank[i];
    }
  }
  if (seen == 0) {
    w.contradicts(kVeryStrong, fmt::format("none of {} collectives is an all-to-all", t.size()),
                  fact("all-to-alls", "collective.op", "", 0, "", false));
    return std::move(w).verdict("", {});
  }
  std::vector<double> loads;
  std::map<int32_t, size_t> busiest;
  for (const auto& [key, s] : instances) {
    if (s.ranks < 2 || !(s.sum > 0)) continue;
    loads.push_back(s.most * static_cast<double>(s.ranks) / s.sum);
    ++busiest[s.who];
  }
  if (static_cast<double>(loads.size()) < kCounted.value) return untested({kNeeds[0]});
  if (!w.gate(stake(view, kPhasesExplained))) return std::move(w).verdict("", {});
  const double load = median_of(loads);
  const EvidenceRow r = fact("bytes of the busiest rank against the mean", "collective.bytes", "",
                             load, "ratio", true);
  if (load < kLoad.value) {
    w.contradicts(kStrong, fmt::format("the busiest rank exchanges {} the mean", times(load)), r);
    return std::move(w).verdict("", {});
  }
  w.supports(kStrong, r);
  const auto top =
      std::max_element(busiest.begin(), busiest.end(),
                       [](const auto& x, const auto& y) { return x.second < y.second; });
  if (2 * top->second > loads.size()) w.where(fmt::format("rank/{}", top->first));
  w.link("Experts get unequal tokens", fmt::format("rank/{}", top->first), times(load));
  return std::move(w).verdict(
      fmt::format("the busiest rank exchanges {} the mean in {} all-to-alls", times(load),
                  loads.size()),
      {});
}

}  // namespace

extern const Hypothesis hypothesis_sync_expert_imbalance{
    .id = "sync.expert_imbalance",
    .claim = "experts get unequal numbers of tokens",
    .decides = "sizes of the all-to-alls per rank",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 2,
    .prior = 0,
    .test = test};

}  // namespace firstwait
