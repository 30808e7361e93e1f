// Weights: from a replay, that removing the worker gives back most of the lost time, and that it is
// slower than the same stage elsewhere, in most steps. From episodes and peers, the p-value as the
// largest Bayes factor it can stand for (Sellke, Bayarri and Berger 2001).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "attribute/lingering.h"
#include "base/stats.h"
#include "explain/input_signals.h"
#include "explain/late_groups.h"
#include "explain/late_steps.h"
#include "explain/placing.h"
#include "explain/replay_view.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::collective, Phase::p2p, Phase::forward,
                                      Phase::backward};
constexpr std::string_view kNeeds[] = {"op records or per-rank step times of at least two ranks"};
constexpr Threshold kZ{"robust z", 3.5, "",
                       "Iglewicz and Hoaglin 1993: modified z-scores above 3.5 are outliers"};
constexpr Threshold kPersistence{
    "share of windows", 0.5, "ratio",
    "arXiv 2505.05713: what explains most; less is a rotating straggler"};
constexpr Threshold kThresholds[] = {kStraggling,  kMostOfIt, kReplayError, kPeerSpread, kZ,
                                     kPersistence, kLateStep, kTurns,       kStall};

// The logarithm of the largest Bayes factor against chance that a p-value can stand for.
double llr_of_p(double p) {
  if (!(p >= 0)) return kPositive;
  if (p >= std::exp(-1.0)) return 0;
  return std::min(kVeryStrong,
                  -std::log(-std::exp(1.0) * std::max(p, 1e-300) * std::log(std::max(p, 1e-300))));
}

void add_rank(Weighing& w, const View& view, int32_t rank) {
  if (rank < 0) return;
  w.where(fmt::format("rank/{}", rank));
  if (std::string host = host_entity(view, rank); !host.empty()) w.where(std::move(host));
}

// Pipelines: the replay decides. "Who arrived last" is not "who is slow" there.
Verdict from_replay(const View& view, const WhatIf& r) {
  Weighing w;
  if (r.slowdown < kStraggling.value) {
    w.contradicts(
        kVeryStrong,
        fmt::format("without stragglers the step would be {} shorter", percent(1 - 1 / r.slowdown)),
        fact("straggler-free slowdown", "what_if.slowdown", "", r.slowdown, "ratio", false));
    return std::move(w).verdict("", {});
  }
  const double removal = r.worker_share_removal;
  if (r.top.empty() || !(removal >= kMostOfIt.value)) {
    w.contradicts(
        kStrong,
        fmt::format(
            "making the slowest worker as fast as the others gives back {} of the lost time",
            percent(std::max(0.0, removal))),
        fact("lost time given back", "what_if.worker_share_removal", "", removal, "ratio", false));
    return std::move(w).verdict("", {});
  }
  bool compared = false;
  std::string because;
  for (const auto& top : r.top) {
    if (top.score < kStraggling.value) continue;
    const std::string entity = worker_entity(top.dp_rank, top.stage);
    const double ratio = top.ratio_in_stage, persistence = top.persistence;
    if (ratio < 1 + kPeerSpread.value) {
      w.contradicts(
          kPositive, fmt::format("{} computes as fast as the other workers of its stage", entity),
          fact("compute against the same stage", "op.compute", entity, ratio, "ratio", false));
      continue;
    }
    if (because.empty()) {
      w.supports(kStrong, fact("lost time given back when it is as fast as the others",
                               "what_if.worker_share_removal", entity, removal, "ratio", true));
      because = fmt::format(
          "{} is late: without that the step would take {} instead of {}", entity.substr(7),
          seconds(r.nodelay_s - removal * (r.nodelay_s - r.ideal_s)), seconds(r.nodelay_s));
    }
    w.where(entity);
    add_rank(w, view, top.rank);
    w.link("One worker computes longer", entity, ratio > 0 ? times(ratio) : times(top.score));
    if (!(ratio > 0) || compared) continue;
    compared = true;
    w.hints(kPositive,
            fact("compute against the same stage", "op.compute", entity, ratio, "ratio", true));
    if (persistence >= kPersistence.value) {
      w.hints(kPositive, fact("steps in which it is slower", "op.compute", entity, persistence,
                              "ratio", true));
    } else {
      w.contradicts(
          kStrong,
          fmt::format("{} is slower in only {} of the steps", entity, percent(persistence)),
          fact("steps in which it is slower", "op.compute", entity, persistence, "ratio", false));
    }
  }
  Verdict v = std::move(w).verdict(because, {});
  set_replay_effect(v, r, removal, r.worker_share_addback);
  return v;
}

void place_group(Weighing& w, const View& view, const LateGroup& g) {
  constexpr size_t kListed = 8;
  if (g.ranks.size() > 1 && !g.host.empty()) w.where(g.host);
  for (size_t i = 0; i < g.ranks.size() && i < kListed; ++i) {
    if (g.ranks.size() == 1)
      add_rank(w, view, g.ranks[i]);
    else
      w.where(fmt::format("rank/{}", g.ranks[i]));
  }
}

// What the loader does meanwhile that such ranks wait for.
std::string tell_loader(Weighing& w, const View& view, const std::string& entity) {
  const LoaderFacts loader = loader_facts(view);
  const bool reads = loader.reading_share > 0.5;
  if (!reads && !(loader.preparing_share >= 0.5)) return "";
  const double share = reads ? loader.reading_share : loader.preparing_share;
  const std::string_view does = reads ? "waits for data" : "decodes and transforms";
  w.link(fmt::format("Its loader {}", does), entity, fmt::format("{} of its time", percent(share)));
  w.hints(0, fact(fmt::format("its loader {}", does), reads ? "loader.fetch" : "loader", entity,
                  share, "ratio", true));
  return fmt::format(": its loader {} for {} of its time", does, percent(share));
}

// The phase that shows the lateness; ", by backward".
std::string tell_phase(Weighing& w, const View& view, const LateGroup& g,
                       const std::string& entity) {
  const auto late = late_phase(view, g);
  if (!late) return "";
  w.link(fmt::format("It spends the time in {}", phase_words(late->phase)), entity,
         fmt::format("{} against {}", seconds(late->late_s), seconds(late->peers_s)));
  w.hints(0, fact(fmt::format("{} against its peers", name(late->phase)), "rank.phase", entity,
                  late->late_s, "s/step", true, late->peers_s));
  return fmt::format(", by {}", phase_words(late->phase)) +
         (late->phase == Phase::input_wait ? tell_loader(w, view, entity) : std::string());
}

// What one group of ranks did, as a clause; its links.
std::string tell_group(Weighing& w, const View& view, const LateGroup& g) {
  const std::string entity =
      g.ranks.size() > 1 && !g.host.empty() ? g.host : fmt::format("rank/{}", g.ranks[0]);
  place_group(w, view, g);
  w.link(g.ranks.size() == 1 ? "One rank is late"
                             : fmt::format("{} ranks are late together", g.ranks.size()),
         entity, times(g.mean_ratio));
  std::string out = fmt::format("{} took {} as long as {} peers ", who_is_late(g),
                                times(g.mean_ratio), g.ranks.size() == 1 ? "its" : "their");
  out += g.throughout ? "throughout" : fmt::format("in steps {} to {}", g.first_step, g.last_step);
  return out + tell_phase(w, view, g, entity);
}

// The episodes that lost most; several ranks in turn are another cause.
Verdict from_episodes(const View& view) {
  const std::vector<LateGroup> groups = persistent_groups(view);
  Weighing w;
  if (groups.empty()) {
    const auto all = late_groups(view);
    double sum = 0;
    for (const auto& g : all) sum += g.total_s;
    w.contradicts(kStrong, "the late rank changes",
                  fact("lateness of the latest rank", "rank.own_time",
                       fmt::format("rank/{}", all.front().ranks.front()),
                       sum > 0 ? all.front().total_s / sum : kNaN, "ratio", false));
    return std::move(w).verdict("", {});
  }
  const LateGroup& worst = groups.front();
  const std::string entity = fmt::format("rank/{}", worst.ranks.front());
  w.supports(llr_of_p(worst.p_value), fact("own time against its peers", "rank.own_time", entity,
                                           worst.mean_ratio, "ratio", true, 1.0));
  if (worst.peak_ratio > worst.mean_ratio)
    w.hints(0, fact("at its peak", "rank.own_time", entity, worst.peak_ratio, "ratio", true));
  std::string because;
  for (const auto& g : groups) because += (because.empty() ? "" : "; ") + tell_group(w, view, g);
  Verdict v = std::move(w).verdict(because, {});
  if (v.outcome != Outcome::supported) return v;
  double per_step = 0;
  for (const auto& g : groups)
    if (g.per_step_s > 0) per_step += g.per_step_s;
  v.effect = Effect{per_step, {kNaN, per_step}};
  v.evidence.push_back(fact("excess over its peers while it lasts", "rank.own_time", entity,
                            worst.while_it_lasts_s, "s/step", true));
  // Late all the time, or no longer when the job got slower: that has another cause.
  const auto& onset = view.attribution.onset;
  v.throughout = worst.throughout || (onset && worst.last_step < onset->step);
  if (!worst.throughout) {
    Onset since;
    since.step = since.step_lo = since.step_hi = worst.first_step;
    v.since = since;
  }
  return v;
}

// ln(own time / the others' median) of a rank, in all steps and in those of now.
struct Lateness {
  std::vector<double> all, now;
  // The mean of now in standard errors of noise that lingers as it does all along.
  double z() const {
    return mean(now) / std::sqrt(long_run_variance(all) / static_cast<double>(now.size()));
  }
};

Lateness lateness_of(const View& view, int32_t rank) {
  const auto& a = view.attribution;
  const auto& m = a.ranks;
  Lateness out;
  const auto at = std::find(m.ranks.begin(), m.ranks.end(), rank);
  if (at == m.ranks.end() || m.own_time.empty() || a.steps.size() != m.steps) return out;
  const auto row = static_cast<size_t>(at - m.ranks.begin());
  for (size_t c = 0; c < m.steps; ++c) {
    const Ns own = m.at(m.own_time, row, c);
    if (own <= 0 || a.steps.segment[c] != SegmentKind::steady) continue;
    std::vector<double> others;
    for (size_t r = 0; r < m.ranks.size(); ++r)
      if (const Ns v = m.at(m.own_time, r, c); r != row && v > 0)
        others.push_back(static_cast<double>(v));
    if (others.empty()) continue;
    const double late = std::log(static_cast<double>(own) / median(std::move(others)));
    out.all.push_back(late);
    if (c >= a.current.first && c <= a.current.last) out.now.push_back(late);
  }
  return out;
}

// Ranks over the current window, without an episode: late from the first step on.
Verdict from_peers(const View& view) {
  const auto& stats = view.attribution.rank_stats;
  const RankStat* worst = nullptr;
  for (const auto& s : stats)
    if (s.ratio_to_peers > 0 && (worst == nullptr || s.ratio_to_peers > worst->ratio_to_peers))
      worst = &s;
  if (worst == nullptr || stats.size() < 2) return untested({kNeeds[0]});
  Weighing w;
  const std::string entity = fmt::format("rank/{}", worst->rank);
  const EvidenceRow ratio = fact("own time against its peers", "rank.own_time", entity,
                                 worst->ratio_to_peers, "ratio", true, 1.0);
  const double excess = worst->own_s * (1 - 1 / worst->ratio_to_peers);
  const double share = view.attribution.current_s > 0 ? excess / view.attribution.current_s : kNaN;
  const bool large = worst->ratio_to_peers >= kStraggling.value && !(share < kRelevantShare.value);
  if (!large) {
    w.contradicts(
        kStrong,
        fmt::format("the slowest rank takes {} of its peers' time", times(worst->ratio_to_peers)),
        ratio);
    return std::move(w).verdict("", {});
  }
  if (worst->persistence < kPersistence.value) {
    w.contradicts(
        kStrong,
        fmt::format("no rank is late in more than {} of the time", percent(worst->persistence)),
        fact("windows in which it is late", "rank.own_time", entity, worst->persistence, "ratio",
             false));
    return std::move(w).verdict("", {});
  }
  if (worst->robust_z == worst->robust_z && worst->robust_z < kZ.value) {
    w.contradicts(
        kPositive, fmt::format("ranks spread as widely as {} deviates", entity),
        fact("robust z among its peers", "rank.own_time", entity, worst->robust_z, "", false));
    return std::move(w).verdict("", {});
  }
  const Lateness lateness = lateness_of(view, worst->rank);
  if (const double z = lateness.z(); z < z_needed(lateness.all.size() * stats.size())) {
    w.contradicts(kPositive, fmt::format("the times of {} wander by as much as it is late", entity),
                  fact("lateness in standard errors", "rank.own_time", entity, z, "", false));
    return std::move(w).verdict("", {});
  }
  w.supports(kPositive, ratio);
  w.hints(kWeak * worst->persistence, fact("windows in which it is late", "rank.own_time", entity,
                                           worst->persistence, "ratio", true));
  if (worst->robust_z >= kZ.value)
    w.hints(kPositive,
            fact("robust z among its peers", "rank.own_time", entity, worst->robust_z, "", true));
  add_rank(w, view, worst->rank);
  w.link("One rank is late", entity, times(worst->ratio_to_peers));
  LateGroup alone;
  alone.ranks = {worst->rank};
  const auto& a = view.attribution;
  if (!a.current.empty && a.current.last < a.steps.size()) {
    alone.first_step = a.steps.step[a.current.first];
    alone.last_step = a.steps.step[a.current.last];
  }
  const std::string shows = tell_phase(w, view, alone, entity);
  Verdict v = std::move(w).verdict(
      fmt::format("rank {} takes {} as long as its peers in {} of the time{}", worst->rank,
                  times(worst->ratio_to_peers), percent(worst->persistence), shows),
      {});
  if (v.outcome == Outcome::supported) v.effect = Effect{excess, {kNaN, excess}};
  return v;
}

// Not late for long, but again and again, and always the same one.
Verdict from_stalls(const View& view, const LateSteps& l) {
  Weighing w;
  const int32_t rank = l.latest();
  const std::string entity = fmt::format("rank/{}", rank);
  w.supports(kPositive,
             fact("time lost to late ranks", "rank.own_time", "", l.cost(), "ratio", true));
  w.hints(kPositive, fact("late steps that are this rank's", "rank.own_time", entity,
                          l.share_of_latest(), "ratio", true));
  add_rank(w, view, rank);
  w.link("One rank stalls again and again", entity,
         fmt::format("in {} of {} steps", l.by_rank.at(rank), l.steps));
  if (l.wait_for_input())
    w.link("It waits for input then", entity, percent(l.input_s / l.lost_s) + " of it");
  Verdict v = std::move(w).verdict(
      fmt::format("rank {} stalls in {} of {} steps, {} of all late steps{}", rank,
                  l.by_rank.at(rank), l.steps, percent(l.share_of_latest()),
                  l.wait_for_input() ? ", by input wait" : ""),
      {});
  if (v.outcome == Outcome::supported) {
    const double each = l.lost_s / static_cast<double>(l.steps);
    v.effect = Effect{each, {kNaN, each}};
    v.since = l.since;
  }
  return v;
}

Verdict test(const View& view) {
  if (const WhatIf* replay = believable_replay(view)) return from_replay(view, *replay);
  if (!view.attribution.straggles.empty()) return from_episodes(view);
  Verdict by_peers = from_peers(view);
  if (by_peers.outcome == Outcome::supported) return by_peers;
  if (const auto& r = view.attribution.what_if; r && r->by_stage.size() > 1) return by_peers;
  const LateSteps l = late_steps(view);
  return l.matter() && l.one_rank(view.attribution.ranks.ranks.size()) ? from_stalls(view, l)
                                                                       : by_peers;
}

}  // namespace

extern const Hypothesis hypothesis_sync_straggler{
    .id = "sync.straggler",
    .claim = "one rank or host is persistently late, its cause not visible",
    .decides = "compute compared within the same stage, persistence, replay without it",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 2,
    .prior = 0,
    .test = test};

}  // namespace firstwait
