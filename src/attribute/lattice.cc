#include "attribute/lattice.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>

#include "attribute/thresholds.h"
#include "base/stats.h"

namespace firstwait {
namespace {

constexpr size_t kMostCandidates = 48;
constexpr size_t kFewestHits = 5;

int32_t phase_of(int64_t point, int32_t period) {
  const int64_t r = point % period;
  return static_cast<int32_t>(r < 0 ? r + period : r);
}

// Differences between marked points up to three apart, the most frequent first: a period shows
// among them unless most of its places are empty. Their greatest common divisors as well, for when
// places are missing.
std::vector<int32_t> candidate_periods(const std::vector<int32_t>& marked) {
  std::map<int64_t, size_t> count;
  for (size_t lag = 1; lag <= 3; ++lag)
    for (size_t i = lag; i < marked.size(); ++i) ++count[int64_t{marked[i]} - marked[i - lag]];
  std::vector<std::pair<size_t, int64_t>> order;
  for (const auto& [difference, n] : count)
    if (difference >= 2 && difference <= INT32_MAX) order.emplace_back(n, difference);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  order.resize(std::min(order.size(), kMostCandidates));
  std::vector<int32_t> periods;
  for (const auto& [n, difference] : order) periods.push_back(static_cast<int32_t>(difference));
  const size_t direct = std::min<size_t>(periods.size(), 8);
  for (size_t i = 0; i < direct; ++i)
    for (size_t j = i + 1; j < direct; ++j)
      if (const int32_t d = std::gcd(periods[i], periods[j]); d >= 2) periods.push_back(d);
  std::sort(periods.begin(), periods.end());
  periods.erase(std::unique(periods.begin(), periods.end()), periods.end());
  return periods;
}

Lattice best_phase(const std::vector<int32_t>& points, const std::vector<int32_t>& marked,
                   int32_t period) {
  std::unordered_map<int32_t, size_t> count;
  for (const int32_t m : marked) ++count[phase_of(m, period)];
  Lattice best;
  best.period = period;
  for (const auto& [phase, n] : count)
    if (n > best.hits || (n == best.hits && phase < best.phase)) best.hits = n, best.phase = phase;
  int32_t first = 0, last = -1;
  for (const int32_t m : marked)
    if (phase_of(m, period) == best.phase) {
      if (last < first) first = m;
      last = m;
    }
  size_t inside = 0, marked_inside = 0;
  const auto from = std::lower_bound(points.begin(), points.end(), first);
  const auto to = std::upper_bound(points.begin(), points.end(), last);
  for (auto p = from; p != to; ++p) best.places += phase_of(*p, period) == best.phase ? 1 : 0;
  inside = static_cast<size_t>(to - from);
  marked_inside = static_cast<size_t>(std::upper_bound(marked.begin(), marked.end(), last) -
                                      std::lower_bound(marked.begin(), marked.end(), first));
  if (best.hits < kFewestHits || inside == 0) return best;
  // The first and the last hit chose the range: they prove nothing.
  const double density = static_cast<double>(marked_inside) / static_cast<double>(inside);
  best.p_value = binomial_tail(static_cast<int64_t>(best.places) - 2,
                               static_cast<int64_t>(best.hits) - 2, density);
  return best;
}

// Mean phase of the times within the period, counted from the first.
double phase_centre(const std::vector<double>& times, double period) {
  double c = 0, s = 0;
  for (const double t : times) {
    const double angle = 6.283185307179586 * std::fmod((t - times.front()) / period, 1.0);
    c += std::cos(angle), s += std::sin(angle);
  }
  return std::atan2(s, c) / 6.283185307179586;
}

}  // namespace

std::optional<Lattice> find_lattice(const std::vector<int32_t>& points,
                                    const std::vector<int32_t>& marked) {
  if (marked.size() < kFewestHits) return std::nullopt;
  const std::vector<int32_t> periods = candidate_periods(marked);
  double tried = 0;
  for (const int32_t period : periods) tried += period;
  std::optional<Lattice> best;
  double best_score = 0;
  for (const int32_t period : periods) {
    Lattice l = best_phase(points, marked, period);
    if (2 * l.hits < l.places) continue;
    l.p_value = std::min(1.0, l.p_value * tried);
    if (l.p_value >= kAlpha) continue;
    const double score =
        static_cast<double>(l.hits) * static_cast<double>(l.hits) / static_cast<double>(l.places);
    if (score > best_score) best_score = score, best = l;
  }
  return best;
}

std::optional<Lattice> find_dense_period(const std::vector<int32_t>& points,
                                         const std::vector<double>& logs) {
  constexpr int32_t kLongest =
      32;  // longer ones leave most steps usual: then the slow ones form a lattice
  constexpr size_t kMost = 20'000;
  const size_t n = std::min(points.size(), kMost);
  std::optional<Lattice> best;
  double best_share = 0;
  for (int32_t period = 2; period <= kLongest && 3 * static_cast<size_t>(period) <= n; ++period) {
    std::vector<std::vector<double>> by_phase(static_cast<size_t>(period));
    for (size_t i = 0; i < n; ++i)
      by_phase[static_cast<size_t>(phase_of(points[i], period))].push_back(logs[i]);
    double low = INFINITY, high = -INFINITY, within = 0, between = 0;
    const double middle = mean({logs.data(), n});
    int32_t slowest = 0;
    for (size_t f = 0; f < by_phase.size(); ++f) {
      if (by_phase[f].empty()) continue;
      const double m = median(by_phase[f]), average = mean(by_phase[f]);
      low = std::min(low, m);
      if (m > high) high = m, slowest = static_cast<int32_t>(f);
      for (const double v : by_phase[f]) within += (v - average) * (v - average);
      between += static_cast<double>(by_phase[f].size()) * (average - middle) * (average - middle);
    }
    if (high - low < std::log(kMinimumEffect)) continue;
    const double d1 = period - 1, d2 = static_cast<double>(n) - period;
    const double share = between / std::max(1e-12, between + within);
    const double p = f_tail((between / d1) / std::max(1e-12, within / d2), d1, d2) * kLongest;
    // Half of the variance, or it is not what makes steps differ. A multiple must explain clearly
    // more to be preferred.
    if (p >= kAlpha || share < 0.5 || share < 1.1 * best_share) continue;
    best_share = share;
    best = Lattice{period, slowest, by_phase[static_cast<size_t>(slowest)].size(),
                   by_phase[static_cast<size_t>(slowest)].size(), p};
  }
  return best;
}

std::optional<Rhythm> find_rhythm(const std::vector<double>& times) {
  const size_t n = times.size();
  if (n < 5) return std::nullopt;
  std::vector<double> candidates;
  for (size_t lag = 1; lag <= 2; ++lag)
    for (size_t i = lag; i < n; ++i)
      candidates.push_back((times[i] - times[i - lag]) / static_cast<double>(lag));
  std::sort(candidates.begin(), candidates.end());
  std::vector<double> distinct;
  for (const double c : candidates)
    if (c > 0 && (distinct.empty() || c > 1.001 * distinct.back())) distinct.push_back(c);
  if (distinct.size() > 256) {
    std::vector<double> thinned;
    for (size_t i = 0; i < 256; ++i) thinned.push_back(distinct[i * distinct.size() / 256]);
    distinct = std::move(thinned);
  }
  const auto agreement = [&times](double period) {
    double c = 0, s = 0;
    for (const double t : times) {
      const double angle = 6.283185307179586 * std::fmod((t - times.front()) / period, 1.0);
      c += std::cos(angle), s += std::sin(angle);
    }
    return std::hypot(c, s) / static_cast<double>(times.size());
  };
  std::optional<Rhythm> best;
  for (double period : distinct) {
    // Sharpen: number the times by the period and fit; twice, as the first numbering drifts.
    for (int round = 0; round < 2; ++round) {
      std::vector<double> number(n);
      double k = 0;
      for (size_t i = 1; i < n; ++i)
        number[i] = k += std::round((times[i] - times[i - 1]) / period);
      const Trend line = theil_sen(number, times);
      if (line.slope > 0) period = line.slope;
    }
    Rhythm r;
    r.period = period;
    r.agreement = agreement(period);
    const double covered = (times.back() - times.front()) / period + 1;
    double spread = 0;
    const double centre = phase_centre(times, period);
    for (const double t : times) {
      const double off = std::fmod((t - times.front()) / period - centre + 4.5, 1.0) - 0.5;
      spread = std::max(spread, std::abs(off));
    }
    // Either Rayleigh's test, or that by chance all lie so near to their middle (1 % of the period
    // at best).
    const auto free = static_cast<double>(n - 2);
    const double p = std::min(std::exp(-free * r.agreement * r.agreement),
                              std::pow(std::max(0.01, 2 * spread), free));
    r.p_value = std::min(1.0, p * static_cast<double>(distinct.size()));
    // An agreement of four fifths is a spread of a ninth of the period. Half the places must be
    // filled.
    if (r.agreement < 0.8 || 2 * static_cast<double>(n) < covered || r.p_value >= kAlpha) continue;
    if (!best || r.period > best->period) best = r;
  }
  return best;
}

}  // namespace firstwait
