#include "explain/late_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/stats.h"
#include "explain/placing.h"
#include "explain/signals.h"

namespace firstwait {
namespace {

// More ranks than this in different episodes are a rotation, whatever the first one costs.
constexpr size_t kNamed = 2;

bool together(const Straggle& a, const Straggle& b) {
  const double lo = std::max(a.first_step, b.first_step), hi = std::min(a.last_step, b.last_step);
  const double longer =
      std::max(1.0 + a.last_step - a.first_step, 1.0 + b.last_step - b.first_step);
  return hi - lo + 1 >= 0.5 * longer;
}

bool is_in(const std::vector<int32_t>& ranks, int32_t rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

// What the step in this column would lose if the group were at its peers' pace.
double lost_s(const RankStepMatrix& m, size_t column, const std::vector<int32_t>& ranks) {
  std::vector<double> peers;
  double with = 0, others = 0;
  for (size_t r = 0; r < m.ranks.size(); ++r) {
    const Ns own = m.at(m.own_time, r, column);
    if (own < 0) continue;
    const double s = static_cast<double>(own) * 1e-9;
    with = std::max(with, s);
    if (is_in(ranks, m.ranks[r])) continue;
    others = std::max(others, s);
    peers.push_back(s);
  }
  if (peers.empty()) return 0;
  return std::max(0.0, with - std::max(others, median_of(peers)));
}

void fill_cost(const View& view, LateGroup& g, double alone_s) {
  const auto& a = view.attribution;
  const auto& m = a.ranks;
  const double length = 1.0 + g.last_step - g.first_step;
  if (m.own_time.empty() || a.steps.size() != m.steps || m.steps == 0) {
    g.while_it_lasts_s = alone_s;
    g.total_s = alone_s * length;
    g.per_step_s = a.steps.size() > 0
                       ? std::min(alone_s, g.total_s / static_cast<double>(a.steps.size()))
                       : alone_s;
    return;
  }
  double now = 0, columns_now = 0, inside = 0, steady = 0;
  for (size_t c = 0; c < m.steps; ++c) {
    if (a.steps.segment[c] != SegmentKind::steady) continue;
    const bool current = !a.current.empty && c >= a.current.first && c <= a.current.last;
    ++steady;
    columns_now += current ? 1 : 0;
    if (a.steps.step[c] < g.first_step || a.steps.step[c] > g.last_step) continue;
    const double lost = lost_s(m, c, g.ranks);
    ++inside;
    g.total_s += lost;
    now += current ? lost : 0;
  }
  g.while_it_lasts_s = inside > 0 ? g.total_s / inside : kNaN;
  g.per_step_s = now > 0 ? now / columns_now : steady > 0 ? g.total_s / steady : kNaN;
}

void fill_place(const View& view, LateGroup& g) {
  std::sort(g.ranks.begin(), g.ranks.end());
  if (g.ranks.size() < 2) return;
  std::set<std::string> hosts;
  for (const int32_t rank : g.ranks) hosts.insert(host_entity(view, rank));
  if (hosts.size() == 1) g.host = *hosts.begin();
}

}  // namespace

std::vector<LateGroup> late_groups(const View& view) {
  const auto& a = view.attribution;
  std::vector<const Straggle*> left;
  for (const auto& s : a.straggles) left.push_back(&s);
  std::stable_sort(left.begin(), left.end(), [](const Straggle* x, const Straggle* y) {
    return x->last_step - x->first_step > y->last_step - y->first_step;
  });
  std::vector<LateGroup> out;
  while (!left.empty()) {
    const Straggle* head = left.front();
    LateGroup g;
    g.first_step = head->first_step;
    g.last_step = head->last_step;
    const Straggle* latest = head;
    double alone_s = 0;
    std::erase_if(left, [&](const Straggle* s) {
      if (s != head && !together(*head, *s)) return false;
      if (!is_in(g.ranks, s->rank)) g.ranks.push_back(s->rank);
      if (s->mean_ratio > latest->mean_ratio) latest = s;
      alone_s = std::max(alone_s, s->seconds_per_step);
      return true;
    });
    g.mean_ratio = latest->mean_ratio;
    g.peak_ratio = latest->peak_ratio;
    g.p_value = latest->p_value;
    const auto first =
        std::find(a.steps.segment.begin(), a.steps.segment.end(), SegmentKind::steady);
    if (first != a.steps.segment.end() && a.steps.size() > 0)
      g.throughout =
          g.first_step <= a.steps.step[static_cast<size_t>(first - a.steps.segment.begin())] &&
          g.last_step >= a.steps.step.back() - 1;
    fill_place(view, g);
    fill_cost(view, g, alone_s);
    out.push_back(std::move(g));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& x, const auto& y) { return x.total_s > y.total_s; });
  return out;
}

std::vector<LateGroup> persistent_groups(const View& view) {
  std::vector<LateGroup> all = late_groups(view);
  std::vector<std::pair<std::vector<int32_t>, double>> sets;  // who, and what they cost together
  double sum = 0;
  for (const auto& g : all) {
    sum += g.total_s;
    const auto it =
        std::find_if(sets.begin(), sets.end(), [&](const auto& s) { return s.first == g.ranks; });
    if (it == sets.end())
      sets.emplace_back(g.ranks, g.total_s);
    else
      it->second += g.total_s;
  }
  std::stable_sort(sets.begin(), sets.end(),
                   [](const auto& x, const auto& y) { return x.second > y.second; });
  // Half of the loss is the least that "most of it" can mean.
  const auto most = [&](size_t n) {
    double part = 0;
    for (size_t i = 0; i < n && i < sets.size(); ++i) part += sets[i].second;
    return !(part < 0.5 * sum);
  };
  std::vector<LateGroup> out;
  if (all.empty() || (sets.size() > kNamed && !most(1))) return out;
  for (auto& g : all) {
    const bool named =
        std::any_of(out.begin(), out.end(), [&](const auto& o) { return o.ranks == g.ranks; });
    if (named || out.size() == kNamed) continue;
    if (!out.empty() && g.total_s < 0.1 * sum) continue;
    out.push_back(std::move(g));
  }
  return out;
}

std::optional<LatePhase> late_phase(const View& view, const LateGroup& group) {
  const StepTable& t = view.evidence.steps;
  const auto& a = view.attribution;
  std::vector<LatePhase> found;
  double all = 0;
  const auto add = [&](Phase p, std::vector<double> late, std::vector<double> peers) {
    if (late.empty() || peers.empty() || p == Phase::collective || p == Phase::p2p) return;
    const double l = middle_mean(std::move(late)), o = middle_mean(std::move(peers));
    if (l > o) {
      found.push_back({p, o, l});
      all += l - o;
    }
  };
  for (size_t i = 0; i < kPhases; ++i) {
    std::vector<double> late, peers;
    if (!t.phases[i].empty()) {
      for (size_t row = 0; row < t.size(); ++row) {
        if (t.step[row] < group.first_step || t.step[row] > group.last_step) continue;
        const Ns v = t.phase(row, static_cast<Phase>(i));
        if (v < 0) continue;
        (is_in(group.ranks, t.rank[row]) ? late : peers).push_back(static_cast<double>(v) * 1e-9);
      }
    } else {
      for (const auto& s : a.rank_stats)
        if (s.phase_s[i] >= 0) (is_in(group.ranks, s.rank) ? late : peers).push_back(s.phase_s[i]);
    }
    add(static_cast<Phase>(i), std::move(late), std::move(peers));
  }
  const auto most = std::max_element(found.begin(), found.end(), [](const auto& x, const auto& y) {
    return x.late_s - x.peers_s < y.late_s - y.peers_s;
  });
  if (most == found.end() || most->late_s - most->peers_s < 0.5 * all ||
      most->phase == Phase::unexplained)
    return std::nullopt;
  return *most;
}

std::string who_is_late(const LateGroup& group) {
  if (group.ranks.size() == 1) return fmt::format("rank {}", group.ranks[0]);
  if (!group.host.empty())
    return fmt::format("the {} ranks of {}", group.ranks.size(),
                       group.host.substr(group.host.find('/') + 1));
  if (group.ranks.size() == 2)
    return fmt::format("ranks {} and {}", group.ranks[0], group.ranks[1]);
  return fmt::format("{} ranks ({}, {} and others)", group.ranks.size(), group.ranks[0],
                     group.ranks[1]);
}

}  // namespace firstwait
