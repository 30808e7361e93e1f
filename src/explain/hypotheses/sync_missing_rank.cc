// A collective that some members never entered is a fact, not a likelihood: very strong. Ranks that
// themselves wait in another collective are victims, unless nobody else is missing.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "explain/placing.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::collective, Phase::p2p, Phase::unexplained};
constexpr std::string_view kNeeds[] = {"flight recorder dumps of all ranks"};

std::string listed(const std::set<int32_t>& ranks) {
  std::string text;
  for (const int32_t r : ranks) text += fmt::format("{}{}", text.empty() ? "" : ", ", r);
  return text;
}

Verdict test(const View& view) {
  const auto& all = view.evidence.missing_ranks;
  Weighing w;
  std::set<int32_t> missing, waiting;
  for (const auto& m : all) {
    missing.insert(m.missing.begin(), m.missing.end());
    if (!m.missing.empty()) waiting.insert(m.present.begin(), m.present.end());
  }
  if (missing.empty()) {
    if (view.evidence.flight.size() == 0) return untested({kNeeds[0]});
    w.contradicts(kStrong, "every rank entered every recorded collective",
                  fact("ranks missing", "collective.missing", "", 0, "", false));
    return std::move(w).verdict("", {});
  }
  std::set<int32_t> culprits;
  std::set_difference(missing.begin(), missing.end(), waiting.begin(), waiting.end(),
                      std::inserter(culprits, culprits.end()));
  if (culprits.empty()) culprits = missing;
  const auto blames = [&](const MissingRanks& m) {
    return std::any_of(m.missing.begin(), m.missing.end(),
                       [&](int32_t r) { return culprits.count(r) > 0; });
  };
  const auto first = std::find_if(all.begin(), all.end(), blames);
  w.supports(
      kVeryStrong,
      fact(fmt::format("ranks that never entered {} {} of group {}", first->op, first->seq,
                       first->group_name.empty() ? first->group : first->group_name),
           "collective.missing", "", static_cast<double>(first->missing.size()), "ranks", true));
  for (const int32_t r : culprits) w.where(fmt::format("rank/{}", r));
  for (const int32_t r : culprits)
    if (std::string host = host_entity(view, r); !host.empty()) w.where(std::move(host));
  w.link("Ranks wait in a collective", fmt::format("{} ranks", first->present.size()), "forever");
  w.link("Ranks never arrive", fmt::format("rank/{}", *culprits.begin()),
         fmt::format("{} missing", culprits.size()));
  return std::move(w).verdict(
      fmt::format("rank{} {} never entered {}", culprits.size() > 1 ? "s" : "", listed(culprits),
                  first->op),
      {});
}

}  // namespace

extern const Hypothesis hypothesis_sync_missing_rank{
    .id = "sync.missing_rank",
    .claim = "a rank never arrives: the job hangs",
    .decides = "which members entered each collective",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = {},
    .checklist_step = 2,
    .prior = 0,
    .test = test};

}  // namespace firstwait
