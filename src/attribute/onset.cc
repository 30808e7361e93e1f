#include "attribute/onset.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attribute/thresholds.h"
#include "base/stats.h"

namespace firstwait {
namespace {

// Above this many values the search runs on medians of blocks; positions are refined on the values
// themselves.
constexpr size_t kMostBlocks = 2000;
// A rank test on fewer values than this cannot reach kAlpha after correction for the splits:
// C(20,10) = 184,756 ways.
constexpr size_t kEnoughForRanks = 40;

using Values = std::vector<double>;

Values logarithms(const Values& values) {
  Values y(values.size());
  // Zero durations would be minus infinity; 1 ns is below any clock's resolution.
  for (size_t i = 0; i < y.size(); ++i) y[i] = std::log(std::max(values[i], 1e-9));
  return y;
}

Values cut(const Values& v, size_t from, size_t to) {
  return {v.begin() + static_cast<ptrdiff_t>(from), v.begin() + static_cast<ptrdiff_t>(to)};
}

Values block_medians(const Values& y, size_t blocks) {
  Values z(blocks);
  for (size_t b = 0; b < blocks; ++b)
    z[b] = median(cut(y, b * y.size() / blocks, (b + 1) * y.size() / blocks));
  return z;
}

// Fewest values on either side. A run of two is the least that is not an isolated outlier; from 10
// values a side on ranks reach kAlpha.
size_t fewest(size_t n) { return std::clamp<size_t>(n / 10, 2, 5); }

struct Split {
  size_t at = 0;
  double p = 1;
};

// The most significant split of z[from, to) by standardised rank sums.
Split best_rank_split(const Values& z, size_t from, size_t to, size_t side) {
  const size_t n = to - from;
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return z[from + a] < z[from + b]; });
  Values rank(n);
  double ties = 0;
  for (size_t i = 0; i < n;) {
    size_t j = i;
    while (j < n && z[from + order[j]] == z[from + order[i]]) ++j;
    const double shared = static_cast<double>(i + j - 1) / 2;
    for (size_t k = i; k < j; ++k) rank[order[k]] = shared;
    const auto t = static_cast<double>(j - i);
    ties += t * t * t - t;
    i = j;
  }
  const auto dn = static_cast<double>(n);
  const double centre = (dn - 1) / 2, tie_factor = dn + 1 - ties / (dn * (dn - 1));
  Split best;
  double best_z = 0, sum = 0;
  for (size_t t = 1; t + side <= n; ++t) {
    sum += rank[t - 1] - centre;
    if (t < side) continue;
    const auto left = static_cast<double>(t);
    const double variance = left * (dn - left) / 12 * tie_factor;
    if (variance <= 0) continue;
    const double score = std::abs(sum) / std::sqrt(variance);
    if (score > best_z) best_z = score, best.at = from + t;
  }
  best.p = std::erfc(best_z / std::sqrt(2.0));
  return best;
}

// Two samples by Student's t on values winsorised at three robust deviations from their own
// medians. The spread has the 1 % floor of Robust: in logarithms 1 % is 0.01.
double t_test(const Values& a, const Values& b) {
  const double ma = median(a), mb = median(b);
  Values residuals;
  for (const double v : a) residuals.push_back(std::abs(v - ma));
  for (const double v : b) residuals.push_back(std::abs(v - mb));
  const double limit = std::max(0.03, 3 * 1.4826 * median(residuals));
  double squares = 0;
  for (const double r : residuals) squares += std::min(r, limit) * std::min(r, limit);
  const auto na = static_cast<double>(a.size()), nb = static_cast<double>(b.size());
  const double freedom = na + nb - 2;
  const double spread = std::max(0.01, std::sqrt(squares / freedom));
  return student_two_sided((mb - ma) / (spread * std::sqrt(1 / na + 1 / nb)), freedom);
}

Split best_t_split(const Values& z, size_t from, size_t to, size_t side) {
  Split best;
  for (size_t t = from + side; t + side <= to; ++t)
    if (const double p = t_test(cut(z, from, t), cut(z, t, to)); p < best.p) best = {t, p};
  return best;
}

bool large_enough(double before, double after) {
  return std::abs(after - before) >= std::log(kMinimumEffect);
}

// Significance of the border `at` between two stretches, corrected for the `tried` splits.
bool holds(const Values& z, size_t from, size_t at, size_t to, size_t tried) {
  const Values a = cut(z, from, at), b = cut(z, at, to);
  if (a.empty() || b.empty() || !large_enough(median(a), median(b))) return false;
  const double p = a.size() + b.size() <= kEnoughForRanks ? t_test(a, b) : rank_sum_p(a, b);
  return p * static_cast<double>(tried) < kAlpha;
}

// Narrowest interval with a significant change first; then intervals that hold that change are
// dropped.
std::vector<size_t> seeded_segmentation(const Values& z) {
  struct Candidate {
    size_t from, to, at;
    double p;
  };
  const size_t n = z.size(), side = fewest(n);
  std::vector<Candidate> candidates;
  for (int layer = 0;; ++layer) {
    const double length = static_cast<double>(n) / std::pow(std::sqrt(2.0), layer);
    if (length < static_cast<double>(2 * side)) break;
    const auto l = std::max<size_t>(2 * side, static_cast<size_t>(std::ceil(length)));
    const auto count = static_cast<size_t>(2 * std::ceil(std::pow(std::sqrt(2.0), layer)) - 1);
    for (size_t i = 0; i < count; ++i) {
      const size_t from = count == 1 ? 0 : i * (n - l) / (count - 1);
      const Split split = l <= kEnoughForRanks ? best_t_split(z, from, from + l, side)
                                               : best_rank_split(z, from, from + l, side);
      if (split.at != 0 && holds(z, from, split.at, from + l, n))
        candidates.push_back({from, from + l, split.at, split.p});
    }
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.to - a.from != b.to - b.from ? a.to - a.from < b.to - b.from : a.p < b.p;
  });
  std::vector<size_t> changes;
  for (const Candidate& c : candidates)
    if (std::none_of(changes.begin(), changes.end(),
                     [&](size_t at) { return at > c.from && at < c.to; }))
      changes.push_back(c.at);
  std::sort(changes.begin(), changes.end());
  return changes;
}

// The split of y[from, to) that costs least in absolute deviation from the two levels.
size_t locate(const Values& y, size_t from, size_t to, double before, double after) {
  double cost = 0, least = 0;
  size_t at = from;
  for (size_t i = from; i < to; ++i) {
    cost += std::abs(y[i] - before) - std::abs(y[i] - after);
    if (cost < least) least = cost, at = i + 1;
  }
  return at;
}

// Drops the weakest change until each is significant and large between the stretches that remain.
void prune(const Values& z, std::vector<size_t>& changes, size_t side) {
  while (!changes.empty()) {
    // The search's intervals are coarse: each border first moves to its best place between its
    // neighbours.
    for (size_t i = 0; i < changes.size(); ++i) {
      const size_t from = i == 0 ? 0 : changes[i - 1],
                   to = i + 1 == changes.size() ? z.size() : changes[i + 1];
      changes[i] = std::clamp(locate(z, from + 1, to - 1, median(cut(z, from, changes[i])),
                                     median(cut(z, changes[i], to))),
                              from + 1, to - 1);
    }
    size_t weakest = SIZE_MAX;
    double smallest = INFINITY;
    for (size_t i = 0; i < changes.size(); ++i) {
      const size_t from = i == 0 ? 0 : changes[i - 1],
                   to = i + 1 == changes.size() ? z.size() : changes[i + 1];
      const bool ok = changes[i] - from >= side && to - changes[i] >= side &&
                      holds(z, from, changes[i], to, z.size());
      const double effect =
          std::abs(median(cut(z, changes[i], to)) - median(cut(z, from, changes[i])));
      if (!ok && effect < smallest) smallest = effect, weakest = i;
    }
    if (weakest == SIZE_MAX) return;
    changes.erase(changes.begin() + static_cast<ptrdiff_t>(weakest));
  }
}

// Refines one change within `reach` of where it was found and gives the interval by resampling the
// residuals.
Change refine(const Values& y, size_t from, size_t at, size_t to, size_t reach) {
  const double before = median(cut(y, from, at)), after = median(cut(y, at, to));
  const size_t lo = std::max(from + 1, at > reach ? at - reach : 0),
               hi = std::min(to - 1, at + reach);
  Change change;
  change.at = std::clamp(locate(y, lo, hi, before, after), from + 1, to - 1);
  constexpr size_t kWindow = 200;
  constexpr int kRepetitions = 200;
  const size_t left = std::min(kWindow, change.at - from),
               right = std::min(kWindow, to - change.at);
  Values residual_before = cut(y, change.at - left, change.at),
         residual_after = cut(y, change.at, change.at + right);
  for (double& v : residual_before) v -= before;
  for (double& v : residual_after) v -= after;
  Random random(0x0457);
  Values drawn(left + right), positions;
  for (int b = 0; b < kRepetitions; ++b) {
    for (size_t i = 0; i < left; ++i) drawn[i] = before + residual_before[random.below(left)];
    for (size_t i = 0; i < right; ++i)
      drawn[left + i] = after + residual_after[random.below(right)];
    positions.push_back(static_cast<double>(locate(drawn, 0, drawn.size(), before, after)));
  }
  const auto place = [&](double q) {
    const auto p = static_cast<size_t>(std::lround(quantile(positions, q)));
    return std::clamp(change.at + p, left + from + 1, left + to - 1) - left;
  };
  change.lo = std::min(change.at, place(kIntervalAlpha / 2));
  change.hi = std::max(change.at, place(1 - kIntervalAlpha / 2));
  return change;
}

void cut_stretches(const Values& values, Changes& out) {
  out.stretches.clear();
  for (size_t i = 0; i <= out.changes.size(); ++i) {
    Stretch s;
    s.first = i == 0 ? 0 : out.changes[i - 1].at;
    s.last = (i == out.changes.size() ? values.size() : out.changes[i].at) - 1;
    s.level = median(cut(values, s.first, s.last + 1));
    out.stretches.push_back(s);
  }
}

}  // namespace

Changes find_changes(const std::vector<double>& values) {
  Changes out;
  if (values.empty()) return out;
  const size_t n = values.size();
  const Values y = logarithms(values);
  if (n >= 4) {
    const size_t blocks = std::min(n, kMostBlocks);
    const Values z = blocks == n ? y : block_medians(y, blocks);
    std::vector<size_t> found = seeded_segmentation(z);
    prune(z, found, fewest(blocks));
    std::vector<size_t> borders{0};
    for (const size_t b : found) borders.push_back(b * n / blocks);
    borders.push_back(n);
    const size_t reach = 3 * (n / blocks + 1) + fewest(blocks);
    for (size_t i = 1; i + 1 < borders.size(); ++i) {
      out.changes.push_back(refine(y, borders[i - 1], borders[i], borders[i + 1], reach));
      borders[i] = out.changes.back().at;
    }
  }
  cut_stretches(values, out);
  return out;
}

std::optional<size_t> explaining_change(const Changes& c) {
  std::optional<size_t> best;
  double largest = 0, lowest_after = INFINITY;
  for (size_t i = c.changes.size(); i-- > 0;) {
    lowest_after = std::min(lowest_after, c.stretches[i + 1].level);
    const double before = c.stretches[i].level;
    if (!(before > 0) || lowest_after < kMinimumEffect * before) continue;
    if (const double rise = c.stretches[i + 1].level / before; rise > largest)
      largest = rise, best = i;
  }
  return best;
}

std::vector<Stretch> past_episodes(const Changes& c) {
  std::vector<Stretch> episodes;
  for (size_t i = 0; i + 1 < c.stretches.size(); ++i) {
    const double level = c.stretches[i].level;
    const bool above_before = i == 0 || level >= kMinimumEffect * c.stretches[i - 1].level;
    if (above_before && level >= kMinimumEffect * c.stretches[i + 1].level)
      episodes.push_back(c.stretches[i]);
  }
  return episodes;
}

Drift find_drift(const std::vector<double>& values) {
  Drift drift;
  const size_t n = values.size();
  if (n < 10) return drift;  // Mann-Kendall cannot reach kAlpha on fewer with noise in them
  const Values y = logarithms(values);
  const Values bins =
      block_medians(y, std::min<size_t>(n, 100));  // bins: neighbours in time are not independent
  Values x(bins.size());
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = (static_cast<double>(i) + 0.5) / static_cast<double>(x.size());
  const Trend line = theil_sen(x, bins);
  drift.ratio = std::exp(line.slope);
  for (size_t i = 0; i < n; ++i)
    drift.misfit += std::abs(y[i] - line.intercept -
                             line.slope * (static_cast<double>(i) + 0.5) / static_cast<double>(n));
  drift.misfit /= static_cast<double>(n);
  drift.found =
      std::max(drift.ratio, 1 / drift.ratio) >= kMinimumDrift && mann_kendall_p(bins) < kAlpha;
  return drift;
}

double misfit(const std::vector<double>& values, const Changes& changes) {
  const Values y = logarithms(values);
  double sum = 0;
  for (const Stretch& s : changes.stretches)
    for (size_t i = s.first; i <= s.last; ++i)
      sum += std::abs(y[i] - std::log(std::max(s.level, 1e-9)));
  return y.empty() ? 0 : sum / static_cast<double>(y.size());
}

}  // namespace firstwait
