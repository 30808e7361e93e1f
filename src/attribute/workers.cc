#include "attribute/workers.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "attribute/ledger.h"
#include "attribute/lingering.h"
#include "attribute/onset.h"
#include "attribute/thresholds.h"
#include "base/stats.h"

namespace firstwait {
namespace {

// ln(own time / median of the peers' in the same step) per rank and steady column; NaN where either
// is missing.
struct Lateness {
  std::vector<std::vector<double>> ratio;  // [rank row][steady index]
  std::vector<std::vector<double>> peers;  // the peers' median, seconds
};

std::vector<int> cells_of(const Evidence& evidence, const StepGrid& grid) {
  std::map<int32_t, size_t> count;
  std::vector<int> cell;
  for (const int32_t rank : grid.ranks.ranks) {
    const auto info = evidence.ranks.find(rank);
    cell.push_back(info == evidence.ranks.end() ? -1 : info->second.stage);
    ++count[cell.back()];
  }
  // A stage with one rank has no peers in it: then stages cannot be kept apart.
  const bool alone =
      std::any_of(count.begin(), count.end(), [](const auto& c) { return c.second < 2; });
  if (alone || count.contains(-1)) std::fill(cell.begin(), cell.end(), 0);
  return cell;
}

Lateness lateness_of(const StepGrid& grid, const std::vector<int>& cell,
                     const std::vector<size_t>& columns) {
  const size_t rows = grid.ranks.ranks.size();
  Lateness l;
  l.ratio.assign(rows, std::vector<double>(columns.size(), kNaN));
  l.peers = l.ratio;
  std::map<int, std::vector<std::pair<Ns, size_t>>> by_cell;
  for (size_t k = 0; k < columns.size(); ++k) {
    for (auto& [c, list] : by_cell) list.clear();
    for (size_t r = 0; r < rows; ++r)
      if (const Ns t = grid.ranks.own_time[r * grid.columns() + columns[k]]; t > 0)
        by_cell[cell[r]].emplace_back(t, r);
    for (auto& [c, list] : by_cell) {
      std::sort(list.begin(), list.end());
      const size_t m = list.size();
      if (m < 2) continue;
      // The median without the i-th: its two middle places in the list of m - 1 others.
      const auto other = [&](size_t i, size_t place) {
        return static_cast<double>(list[place < i ? place : place + 1].first);
      };
      for (size_t i = 0; i < m; ++i) {
        const double peers = (other(i, (m - 2) / 2) + other(i, (m - 1) / 2)) / 2;
        l.ratio[list[i].second][k] = std::log(static_cast<double>(list[i].first) / peers);
        l.peers[list[i].second][k] = peers / 1e9;
      }
    }
  }
  return l;
}

std::vector<double> own_seconds(const StepGrid& grid, size_t r,
                                const std::vector<size_t>& columns) {
  std::vector<double> values;
  for (const size_t c : columns)
    if (const Ns t = grid.ranks.own_time[r * grid.columns() + c]; t >= 0)
      values.push_back(static_cast<double>(t) / 1e9);
  return values;
}

// Share of windows in which each rank is clearly above its peers, be it alone or with others of its
// host.
std::vector<double> persistence(const Lateness& l, const std::vector<size_t>& columns,
                                const std::vector<bool>& counted) {
  constexpr size_t kWindows = 50;
  const size_t rows = l.ratio.size();
  std::vector<size_t> chosen;
  for (size_t k = 0; k < columns.size(); ++k)
    if (counted[k]) chosen.push_back(k);
  std::vector<double> share(rows, 0);
  const size_t windows = std::min(kWindows, chosen.size());
  for (size_t w = 0; w < windows; ++w) {
    for (size_t r = 0; r < rows; ++r) {
      std::vector<double> values;
      for (size_t i = w * chosen.size() / windows; i < (w + 1) * chosen.size() / windows; ++i)
        values.push_back(l.ratio[r][chosen[i]]);
      if (median(std::move(values)) >= std::log(kMinimumEffect))
        share[r] += 1.0 / static_cast<double>(windows);
    }
  }
  return share;
}

std::vector<double> phase_values(const StepTable& table, const StepGrid& grid, size_t r,
                                 Phase phase, const std::vector<size_t>& columns) {
  std::vector<double> values;
  if (table.phases[index(phase)].empty()) return values;
  for (const size_t c : columns)
    if (const uint32_t row = grid.row_at(r, c); row != kNoRow)
      if (const Ns v = table.phase(row, phase); v >= 0)
        values.push_back(static_cast<double>(v) / 1e9);
  return values;
}

std::array<double, kPhases> phase_medians(const StepTable& table, const StepGrid& grid, size_t r,
                                          const std::vector<size_t>& columns) {
  std::array<double, kPhases> out{};
  for (size_t p = 0; p < kPhases; ++p)
    out[p] = median(phase_values(table, grid, r, static_cast<Phase>(p), columns));
  return out;
}

std::vector<RankStat> rank_stats(const StepTable& table, const StepGrid& grid,
                                 const std::vector<int>& cell, const Window& current,
                                 const Window& baseline) {
  const size_t rows = grid.ranks.ranks.size();
  const auto now = columns_of(grid.steps, current), past = columns_of(grid.steps, baseline);
  std::vector<RankStat> stats(rows);
  for (size_t r = 0; r < rows; ++r) {
    stats[r].rank = grid.ranks.ranks[r];
    stats[r].own_s = median(own_seconds(grid, r, now));
    stats[r].baseline_s = median(own_seconds(grid, r, past));
    stats[r].ratio_to_past = stats[r].own_s / stats[r].baseline_s;
    stats[r].phase_s = phase_medians(table, grid, r, now);
  }
  std::map<int, std::vector<double>> own;
  for (size_t r = 0; r < rows; ++r) own[cell[r]].push_back(stats[r].own_s);
  std::map<int, WithoutOne> of_cell;
  for (auto& [c, values] : own) of_cell.emplace(c, std::move(values));
  for (size_t r = 0; r < rows; ++r) {
    const Robust peers = of_cell.at(cell[r]).without(stats[r].own_s);
    if (peers.n == 0) continue;
    if (peers.median > 0) stats[r].ratio_to_peers = stats[r].own_s / peers.median;
    if (peers.n >= kEnoughPeers) stats[r].robust_z = peers.z(stats[r].own_s);
  }
  return stats;
}

// What is lost to some ranks over some columns: the job's slowest with and without them at their
// peers' pace, per step.
double cost_of(const StepGrid& grid, const Lateness& l, const std::vector<size_t>& columns,
               const std::vector<bool>& of, size_t from, size_t to) {
  double sum = 0;
  size_t n = 0;
  for (size_t k = from; k < to; ++k) {
    Ns with = 0, without = 0;
    for (size_t r = 0; r < grid.ranks.ranks.size(); ++r) {
      const Ns t = grid.ranks.own_time[r * grid.columns() + columns[k]];
      with = std::max(with, t);
      const double peers = l.peers[r][k];
      without = std::max(without,
                         of[r] && peers == peers ? std::min(t, static_cast<Ns>(peers * 1e9)) : t);
    }
    sum += static_cast<double>(with - without) / 1e9;
    ++n;
  }
  return n == 0 ? kNaN : sum / static_cast<double>(n);
}

double cost_of(const StepGrid& grid, const Lateness& l, const std::vector<size_t>& columns,
               size_t rank_row, size_t from, size_t to) {
  std::vector<bool> of(grid.ranks.ranks.size(), false);
  of[rank_row] = true;
  return cost_of(grid, l, columns, of, from, to);
}

// The ratios that are known, with their places.
struct Track {
  std::vector<double> ratio;  // own past taken out: 1 is usual
  std::vector<double> raw;    // to the peers
  std::vector<size_t> place;  // index into the steady columns
  double usual = 0;           // ln of the rank's usual ratio to its peers
};

Track track_of(const std::vector<double>& lateness) {
  Track t;
  t.usual = median(lateness);
  for (size_t k = 0; k < lateness.size(); ++k)
    if (lateness[k] == lateness[k]) {
      t.ratio.push_back(std::exp(lateness[k] - t.usual));
      t.raw.push_back(std::exp(lateness[k]));
      t.place.push_back(k);
    }
  return t;
}

// Cheap look before the search: is any short stretch late at all?
double latest_stretch(const Track& t) {
  double most = 0, least = INFINITY;
  for (size_t i = 0; i < t.ratio.size(); i += kPersistentWindows) {
    const size_t end = std::min(t.ratio.size(), i + kPersistentWindows);
    const double m = median({t.ratio.begin() + static_cast<ptrdiff_t>(i),
                             t.ratio.begin() + static_cast<ptrdiff_t>(end)});
    most = std::max(most, m);
    least = std::min(least, m);
  }
  return least > 0 ? most / least : 0;
}

Straggle straggle_of(const StepGrid& grid, const Lateness& l, const std::vector<size_t>& columns,
                     const Track& t, size_t r, const Stretch& s) {
  Straggle out;
  out.rank = grid.ranks.ranks[r];
  out.first_step = grid.steps.step[columns[t.place[s.first]]];
  out.last_step = grid.steps.step[columns[t.place[s.last]]];
  std::vector<double> inside, outside;
  for (size_t i = 0; i < t.ratio.size(); ++i)
    (i >= s.first && i <= s.last ? inside : outside).push_back(t.ratio[i]);
  out.mean_ratio = mean(inside);
  out.peak_ratio = *std::max_element(inside.begin(), inside.end());
  out.seconds_per_step = cost_of(grid, l, columns, r, t.place[s.first], t.place[s.last] + 1);
  if (!outside.empty())
    out.p_value =
        std::min(1.0, rank_sum_p(inside, outside) * static_cast<double>(grid.ranks.ranks.size()));
  return out;
}

// Spells too short for the search, which needs as many windows on both sides of each border: runs
// without a break in which the rank is late by more than workers differ normally, and stands out of
// its own spread.
std::vector<Stretch> short_spells(const Track& t) {
  std::vector<Stretch> spells;
  const Robust usual = robust(t.ratio);
  for (size_t i = 0, end = 0; i < t.ratio.size(); i = end + 1) {
    for (end = i; end < t.ratio.size() && t.ratio[end] >= kMinimumEffect * usual.median;) ++end;
    if (end - i < kPersistentWindows) continue;
    const double level = median({t.ratio.begin() + static_cast<ptrdiff_t>(i),
                                 t.ratio.begin() + static_cast<ptrdiff_t>(end)});
    if (level >= kStandingRatioOfFew * usual.median && usual.z(level) >= kOutlierZ)
      spells.push_back({i, end - 1, level});
  }
  return spells;
}

std::vector<double> known_of(const std::vector<double>& values) {
  std::vector<double> out;
  for (const double v : values)
    if (v == v) out.push_back(v);
  return out;
}

// The same where there are too few such stretches to compare with: the lateness inside against that
// outside, in standard errors of the noise of most ranks, with either level taken out.
bool shifts(const Lateness& l, size_t r, const Track& t, const Stretch& s) {
  constexpr size_t kOthers = 16;
  const size_t from = t.place[s.first], to = t.place[s.last];
  std::vector<double> noise;
  double shift = 0, share = 0;
  size_t places = 0;
  for (size_t k = 0; k < l.ratio.size() && noise.size() < kOthers; ++k) {
    const size_t o = (r + k) % l.ratio.size();  // the rank itself first
    std::vector<double> all, in, out;
    for (size_t i = 0; i < l.ratio[o].size(); ++i)
      if (const double v = l.ratio[o][i]; v == v) (i >= from && i <= to ? in : out).push_back(v);
    if (in.size() < 2 || out.size() < 2) {
      if (o == r) return true;
      continue;
    }
    const double inside = mean(in), outside = mean(out);
    if (o == r) {
      shift = inside - outside;
      share = 1 / static_cast<double>(in.size()) + 1 / static_cast<double>(out.size());
      places = in.size() + out.size();
    }
    for (size_t i = 0; i < l.ratio[o].size(); ++i)
      if (const double v = l.ratio[o][i]; v == v)
        all.push_back(v - (i >= from && i <= to ? inside : outside));
    noise.push_back(long_run_variance(all));
  }
  return shift >= z_needed(places * l.ratio.size()) * std::sqrt(median(noise) * share);
}

// Whether the stretch is later than stretches of its length are by themselves, in this rank and in
// others: what lasts a while in a noise that lingers is no spell. The bound is the normal tail's
// (exp(-z^2 / 2)), corrected for the places looked at.
bool stands_out(const Lateness& l, size_t r, const Track& t, const Stretch& s) {
  constexpr size_t kOthers = 16, kEnough = 20;
  std::vector<double> usual;
  const auto add = [&](const std::vector<double>& logs, double middle, const Stretch* without) {
    for (size_t i = 0; i + s.size() <= logs.size(); i += s.size()) {
      if (without != nullptr && i <= without->last && i + s.size() > without->first) continue;
      const double m = median({logs.begin() + static_cast<ptrdiff_t>(i),
                               logs.begin() + static_cast<ptrdiff_t>(i + s.size())});
      if (m == m) usual.push_back(m - middle);
    }
  };
  std::vector<double> own;
  for (const double ratio : t.ratio) own.push_back(std::log(ratio));
  add(own, 0, &s);
  for (size_t o = 0, n = 0; o < l.ratio.size() && n < kOthers; ++o)
    if (o != r) add(l.ratio[o], median(l.ratio[o]), nullptr), ++n;
  if (usual.size() < kEnough) return shifts(l, r, t, s);
  const double places = static_cast<double>(usual.size() * s.size());  // where it could lie
  const double enough = std::sqrt(2 * std::log(places / kAlpha));
  return robust(usual).z(std::log(s.level)) >= enough;
}

// Seconds over the peers, the median of a stretch.
double excess_in(const Lateness& l, const Track& t, size_t r, const Stretch& s) {
  std::vector<double> values;
  for (size_t i = s.first; i <= s.last; ++i)
    values.push_back((t.raw[i] - 1) * l.peers[r][t.place[i]]);
  return median(std::move(values));
}

// Whether the rank itself lost time against its place in `before`. Where all got slower by the same
// seconds, a rank that was late before is so by a smaller ratio.
bool lost_time(const Lateness& l, const Track& t, size_t r, const Stretch& s,
               const Stretch& before) {
  const double usual = excess_in(l, t, r, before);
  return !(usual > 0) || excess_in(l, t, r, s) >= kMinimumEffect * usual;
}

// Adds the stretch when the rank is late in it against both its peers and its own usual place.
bool add_episode(const StepGrid& grid, const Lateness& l, const std::vector<size_t>& columns,
                 const Track& t, size_t r, const Stretch& s, double usual, double tried,
                 std::vector<Straggle>& out) {
  if (s.size() < kPersistentWindows || s.level < kMinimumEffect * usual) return false;
  const double raw = median({t.raw.begin() + static_cast<ptrdiff_t>(s.first),
                             t.raw.begin() + static_cast<ptrdiff_t>(s.last + 1)});
  if (raw < kMinimumEffect || !stands_out(l, r, t, s)) return false;
  Straggle found = straggle_of(grid, l, columns, t, r, s);
  found.mean_ratio /= usual;
  found.peak_ratio /= usual;
  found.p_value = std::min(1.0, found.p_value * tried);
  if (found.p_value >= kAlpha) return false;
  out.push_back(found);
  return true;
}

void find_episodes(const StepGrid& grid, const Lateness& l, const std::vector<size_t>& columns,
                   std::vector<Straggle>& out) {
  constexpr size_t kMostRanks = 64;  // the search is for the late few
  std::vector<std::pair<double, size_t>> late;
  for (size_t r = 0; r < l.ratio.size(); ++r)
    if (const double most = latest_stretch(track_of(l.ratio[r])); most >= kMinimumEffect)
      late.emplace_back(-most, r);
  std::sort(late.begin(), late.end());
  late.resize(std::min(late.size(), kMostRanks));
  for (const auto& [most, r] : late) {
    const Track t = track_of(l.ratio[r]);
    // The usual place is the lowest lasting level: a rank that is late for most of the record has
    // its past at the start.
    const Changes changes = find_changes(t.ratio);
    const auto usual =
        std::min_element(changes.stretches.begin(), changes.stretches.end(),
                         [](const Stretch& a, const Stretch& b) { return a.level < b.level; });
    bool found = false;
    for (const Stretch& s : changes.stretches)
      if (lost_time(l, t, r, s, *usual))
        found = add_episode(grid, l, columns, t, r, s, usual->level, 1, out) || found;
    if (found) continue;
    for (const Stretch& s : short_spells(t))
      add_episode(grid, l, columns, t, r, s, 1, static_cast<double>(t.ratio.size()), out);
  }
}

// A rank that is late throughout has no past; its peers alone speak. With five peers or more it
// must stand out of their spread, with fewer the spread cannot be known and the ratio must exceed
// what workers differ by normally.
bool late_throughout(const RankStat& s) {
  if (!(s.ratio_to_peers >= kMinimumEffect) || s.persistence < kPersistentShare) return false;
  return s.robust_z == s.robust_z ? s.robust_z >= kOutlierZ
                                  : s.ratio_to_peers >= kStandingRatioOfFew;
}

// Whether a level is beyond what the noise of most ranks, which may linger, comes to on the
// average.
bool stands(const Lateness& l, const std::vector<double>& values) {
  constexpr size_t kOthers = 16;
  std::vector<double> noise;
  for (size_t o = 0; o < l.ratio.size() && o < kOthers; ++o)
    if (const double v = long_run_variance(known_of(l.ratio[o])); v == v) noise.push_back(v);
  const double n = static_cast<double>(values.size());
  return mean(values) >= z_needed(values.size() * l.ratio.size()) * std::sqrt(median(noise) / n);
}

void find_standing(const StepGrid& grid, const Lateness& l, const std::vector<size_t>& columns,
                   Workers& w) {
  const size_t rows = grid.ranks.ranks.size();
  // The ranks of one slow host wait for each other: only together do they cost what they cost.
  std::vector<bool> all_late(rows);
  for (size_t r = 0; r < rows; ++r) all_late[r] = late_throughout(w.stats[r]);
  const double together = cost_of(grid, l, columns, all_late, 0, columns.size());
  for (size_t r = 0; r < rows; ++r) {
    const int32_t rank = grid.ranks.ranks[r];
    const bool named = std::any_of(w.straggles.begin(), w.straggles.end(),
                                   [&](const Straggle& s) { return s.rank == rank; });
    std::vector<double> known, early, late;
    for (size_t k = 0; k < columns.size(); ++k) {
      if (l.ratio[r][k] != l.ratio[r][k]) continue;
      known.push_back(l.ratio[r][k]);
      (2 * k < columns.size() ? early : late).push_back(l.ratio[r][k]);
    }
    if (known.size() < kPersistentWindows || named) continue;
    const double ratio = std::exp(median(known));
    if (late_throughout(w.stats[r])) {
      Straggle s;
      s.rank = rank;
      s.first_step = grid.steps.step[columns.front()];
      s.last_step = grid.steps.step[columns.back()];
      std::vector<double> ratios;
      for (const double v : known) ratios.push_back(std::exp(v));
      s.mean_ratio = mean(ratios);
      s.peak_ratio = *std::max_element(ratios.begin(), ratios.end());
      s.seconds_per_step = together;
      const auto above = static_cast<int64_t>(
          std::count_if(known.begin(), known.end(), [](double v) { return v > 0; }));
      s.p_value = std::min(1.0, binomial_tail(static_cast<int64_t>(known.size()), above, 0.5) *
                                    static_cast<double>(rows));
      if (s.p_value < kAlpha && s.seconds_per_step > 0 && stands(l, known)) {
        w.straggles.push_back(s);
        continue;
      }
    }
    // Constant: the same in both halves within the jitter floor, and beyond three times it.
    const double drift = early.empty() || late.empty() ? 0 : std::abs(median(early) - median(late));
    if (std::abs(std::log(ratio)) < kStandingFloor ||
        drift > std::max(kStandingFloor, std::abs(std::log(ratio)) / 2))
      continue;
    const auto same_side = static_cast<int64_t>(std::count_if(
        known.begin(), known.end(), [&](double v) { return (v > 0) == (ratio > 1) && v != 0; }));
    if (binomial_tail(static_cast<int64_t>(known.size()), same_side, 0.5) *
            static_cast<double>(rows) >=
        kAlpha)
      continue;
    w.offsets.push_back(
        {rank, kNaN, ratio > 1 ? cost_of(grid, l, columns, r, 0, columns.size()) : 0});
  }
  std::vector<double> medians;
  std::map<int32_t, double> of_rank;
  for (size_t r = 0; r < rows; ++r)
    medians.push_back(of_rank[grid.ranks.ranks[r]] = median(own_seconds(grid, r, columns)));
  const double middle = median(medians);
  for (StandingOffset& o : w.offsets) o.ratio = of_rank[o.rank] / middle;
  std::erase_if(w.offsets,
                [](const StandingOffset& o) { return !(std::abs(o.ratio - 1) >= kStandingFloor); });
  std::stable_sort(w.offsets.begin(), w.offsets.end(),
                   [](const auto& a, const auto& b) { return a.ratio > b.ratio; });
}

}  // namespace

Workers compare_workers(const StepTable& table, const Evidence& evidence, const StepGrid& grid,
                        const std::vector<size_t>& steady, const Window& current,
                        const Window& baseline) {
  Workers w;
  if (grid.ranks.ranks.size() < 2 || grid.columns() == 0) return w;
  const std::vector<int> cell = cells_of(evidence, grid);
  w.stats = rank_stats(table, grid, cell, current, baseline);
  const Lateness l = lateness_of(grid, cell, steady);
  std::vector<bool> counted(steady.size());
  for (size_t k = 0; k < steady.size(); ++k)
    counted[k] = steady[k] >= current.first && steady[k] <= current.last;
  const std::vector<double> share = persistence(l, steady, counted);
  for (size_t r = 0; r < w.stats.size(); ++r) w.stats[r].persistence = share[r];
  if (steady.empty()) return w;
  find_episodes(grid, l, steady, w.straggles);
  find_standing(grid, l, steady, w);
  std::stable_sort(
      w.straggles.begin(), w.straggles.end(),
      [](const Straggle& a, const Straggle& b) { return a.first_step < b.first_step; });
  return w;
}

void name_carriers(const StepTable& table, const StepGrid& grid, const Window& current,
                   std::vector<LedgerRow>& ledger) {
  const auto& ranks = grid.ranks.ranks;
  if (ranks.size() < 2) return;
  const auto columns = columns_of(grid.steps, current);
  double step_s = 0;
  for (const LedgerRow& row : ledger) step_s += row.seconds;
  for (LedgerRow& row : ledger) {
    // Not the median: a loader of two workers is late every other step.
    std::vector<double> all;
    for (size_t r = 0; r < ranks.size(); ++r)
      all.push_back(middle_mean(phase_values(table, grid, r, row.phase, columns)));
    const WithoutOne sample(all);
    for (size_t k = 0; k < ranks.size(); ++k) {
      const double mine = all[k];
      if (mine != mine) continue;
      const Robust r = sample.without(mine);
      if (r.n == 0) continue;
      const bool beyond = r.n >= kEnoughPeers
                              ? r.z(mine) >= kOutlierZ && mine >= kMinimumEffect * r.median
                              : mine >= kStandingRatioOfFew * r.median;
      if (beyond && mine - r.median >= 0.01 * step_s) row.ranks.push_back(ranks[k]);
    }
    if (row.ranks.size() == ranks.size()) row.ranks.clear();
  }
}

}  // namespace firstwait
