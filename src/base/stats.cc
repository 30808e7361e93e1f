#include "base/stats.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>
#include <numeric>

namespace firstwait {
namespace {

constexpr double kNaNValue = std::numeric_limits<double>::quiet_NaN();
// Boost.Math answers domain errors with NaN instead of throwing.
using QuietPolicy = boost::math::policies::policy<
    boost::math::policies::domain_error<boost::math::policies::ignore_error>,
    boost::math::policies::pole_error<boost::math::policies::ignore_error>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;

void drop_nan(std::vector<double>& values) {
  std::erase_if(values, [](double v) { return v != v; });
}

double two_sided_normal(double z) { return std::erfc(std::abs(z) / std::sqrt(2.0)); }

double log_choose(int64_t n, int64_t k) {
  const auto f = [](int64_t v) { return std::lgamma(static_cast<double>(v) + 1); };
  return f(n) - f(k) - f(n - k);
}

// Number of pairs out of order, by merge sort; equal values count as in order.
uint64_t inversions(std::vector<double>& values, std::vector<double>& scratch, size_t lo,
                    size_t hi) {
  if (hi - lo < 2) return 0;
  const size_t mid = lo + (hi - lo) / 2;
  uint64_t count = inversions(values, scratch, lo, mid) + inversions(values, scratch, mid, hi);
  size_t i = lo, j = mid, k = lo;
  while (i < mid || j < hi) {
    if (j == hi || (i < mid && values[i] <= values[j])) {
      scratch[k++] = values[i++];
    } else {
      scratch[k++] = values[j++];
      count += mid - i;
    }
  }
  std::copy(scratch.begin() + static_cast<ptrdiff_t>(lo),
            scratch.begin() + static_cast<ptrdiff_t>(hi),
            values.begin() + static_cast<ptrdiff_t>(lo));
  return count;
}

// Sum over groups of equal values of f(size).
template <typename F>
double over_ties(std::vector<double> values, F f) {
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (size_t i = 0; i < values.size();) {
    size_t j = i;
    while (j < values.size() && values[j] == values[i]) ++j;
    sum += f(static_cast<double>(j - i));
    i = j;
  }
  return sum;
}

// Exact distribution of the Mann-Whitney U by counting (recurrence over n, m, u).
double exact_rank_sum_p(size_t n, size_t m, uint64_t u) {
  const size_t most = n * m;
  // ways[j][v]: subsets of size j of the first i ranks whose U is v; built rank by rank.
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(most + 1, 0));
  ways[0][0] = 1;
  for (size_t i = 1; i <= n + m; ++i)
    for (size_t j = std::min(i, n); j >= 1; --j)
      if (i - j <= m)  // the i-th value is the j-th of a: it exceeds i - j values of b
        for (size_t v = i - j; v <= most; ++v) ways[j][v] += ways[j - 1][v - (i - j)];
  double total = 0, low = 0, high = 0;
  for (size_t v = 0; v <= most; ++v) {
    total += ways[n][v];
    if (v <= u) low += ways[n][v];
    if (v >= u) high += ways[n][v];
  }
  return std::min(1.0, 2 * std::min(low, high) / total);
}

// Two samples that hardly overlap, the smaller of k values: the normal approximation overstates the
// p-value there by orders of magnitude. Exact but for the bound on the parts: the arrangements with
// at most `v` pairs out of order are the partitions of up to v into at most k parts.
double nearly_apart_p(int64_t k, int64_t both, int64_t v, bool ties) {
  constexpr int64_t kMostPairs = 400;
  if (k > 30 || v > kMostPairs) return 1;
  std::vector<double> ways(static_cast<size_t>(v) + 1, 0);
  ways[0] = 1;
  for (size_t part = 1; part <= static_cast<size_t>(k); ++part)
    for (size_t i = part; i < ways.size(); ++i) ways[i] += ways[i - part];
  double sum = 0;
  for (const double w : ways) sum += w;
  // With ties, half of the ways to break them leave no more pairs out of order than the ties count.
  return std::min(1.0, (ties ? 4 : 2) * std::exp(std::log(sum) - log_choose(both, k)));
}

}  // namespace

double middle_mean(std::vector<double> values) {
  drop_nan(values);
  if (values.size() < 10) return median(std::move(values));
  std::sort(values.begin(), values.end());
  const size_t cut = values.size() / 10;
  return mean(std::span<const double>(values).subspan(cut, values.size() - 2 * cut));
}

double median(std::vector<double> values) {
  drop_nan(values);
  if (values.empty()) return kNaNValue;
  const auto mid = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), mid, values.end());
  if (values.size() % 2 == 1) return *mid;
  return (*std::max_element(values.begin(), mid) + *mid) / 2;
}

int64_t median_int(std::vector<int64_t> values) {
  if (values.empty()) return 0;
  const auto mid = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), mid, values.end());
  return *mid;
}

double quantile(std::vector<double> values, double q) {
  drop_nan(values);
  if (values.empty()) return kNaNValue;
  std::sort(values.begin(), values.end());
  const double at = std::clamp(q, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

double mean(std::span<const double> values) {
  double sum = 0;
  size_t n = 0;
  for (const double v : values)
    if (v == v) sum += v, ++n;
  return n == 0 ? kNaNValue : sum / static_cast<double>(n);
}

double Robust::z(double x) const {
  const double d = x - median;
  if (scale > 0) return d / scale;
  return d == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), d);
}

Robust robust(const std::vector<double>& values) {
  Robust r;
  std::vector<double> v = values;
  drop_nan(v);
  r.n = v.size();
  r.median = firstwait::median(v);
  for (double& x : v) x = std::abs(x - r.median);
  r.scale = std::max(1.4826 * firstwait::median(std::move(v)), 0.01 * std::abs(r.median));
  return r;
}

WithoutOne::WithoutOne(std::vector<double> values) : sorted_(std::move(values)) {
  drop_nan(sorted_);
  std::sort(sorted_.begin(), sorted_.end());
}

Robust WithoutOne::without(double value) const {
  const auto gone = static_cast<size_t>(std::lower_bound(sorted_.begin(), sorted_.end(), value) -
                                        sorted_.begin());
  const bool all = value != value || gone == sorted_.size();
  const size_t n = all ? sorted_.size() : sorted_.size() - 1;
  if (n == 0) return {kNaNValue, kNaNValue, 0};
  const auto at = [&](size_t i) { return sorted_[all || i < gone ? i : i + 1]; };
  const auto middle = [n](const auto& place) {
    return n % 2 == 1 ? place(n / 2) : (place(n / 2 - 1) + place(n / 2)) / 2;
  };
  Robust r;
  r.n = n;
  r.median = middle(at);
  // Distances from the median grow to both sides: the k-th of two sorted lists.
  auto below = static_cast<size_t>(std::lower_bound(sorted_.begin(), sorted_.end(), r.median) -
                                   sorted_.begin());
  if (!all && gone < below) --below;
  const size_t above = n - below;
  const auto left = [&](size_t i) { return std::abs(at(below - 1 - i) - r.median); };
  const auto right = [&](size_t i) { return std::abs(at(below + i) - r.median); };
  const auto distance = [&](size_t k) {
    size_t lo = k + 1 > above ? k + 1 - above : 0, hi = std::min(k + 1, below);
    while (lo < hi) {  // taken from the left
      const size_t i = (lo + hi) / 2;
      if (left(i) < right(k - i)) {
        lo = i + 1;
      } else {
        hi = i;
      }
    }
    const double from_left = lo > 0 ? left(lo - 1) : 0;
    return lo < k + 1 ? std::max(from_left, right(k - lo)) : from_left;
  };
  r.scale = std::max(1.4826 * middle(distance), 0.01 * std::abs(r.median));
  return r;
}

Trend theil_sen(const std::vector<double>& x, const std::vector<double>& y) {
  constexpr size_t kMostPoints =
      400;  // 80,000 pairs; the slope's error is then that of the bins' medians
  std::vector<double> px, py;
  const size_t n = std::min(x.size(), y.size());
  const size_t bins = std::min(n, kMostPoints);
  for (size_t b = 0; b < bins; ++b) {
    const size_t lo = b * n / bins, hi = (b + 1) * n / bins;
    const auto cut = [&](const std::vector<double>& v) {
      return firstwait::median(
          {v.begin() + static_cast<ptrdiff_t>(lo), v.begin() + static_cast<ptrdiff_t>(hi)});
    };
    const double mx = cut(x), my = cut(y);
    if (mx == mx && my == my) px.push_back(mx), py.push_back(my);
  }
  std::vector<double> slopes;
  for (size_t i = 0; i < px.size(); ++i)
    for (size_t j = i + 1; j < px.size(); ++j)
      if (px[j] != px[i]) slopes.push_back((py[j] - py[i]) / (px[j] - px[i]));
  Trend t;
  t.slope = slopes.empty() ? 0 : firstwait::median(std::move(slopes));
  for (size_t i = 0; i < px.size(); ++i) py[i] -= t.slope * px[i];
  t.intercept = py.empty() ? 0 : firstwait::median(std::move(py));
  return t;
}

double mann_kendall_p(const std::vector<double>& series) {
  std::vector<double> y = series;
  drop_nan(y);
  const auto n = static_cast<double>(y.size());
  if (y.size() < 3) return 1;
  const auto pairs = [](double t) { return t * (t - 1) / 2; };
  const double tied = over_ties(y, pairs);
  const double variance_ties = over_ties(y, [](double t) { return t * (t - 1) * (2 * t + 5); });
  std::vector<double> scratch(y.size());
  const auto down = static_cast<double>(inversions(y, scratch, 0, y.size()));
  const double s = pairs(n) - tied - 2 * down;
  const double variance = (n * (n - 1) * (2 * n + 5) - variance_ties) / 18;
  if (variance <= 0 || s == 0) return 1;
  return two_sided_normal((std::abs(s) - 1) / std::sqrt(variance));
}

double rank_sum_p(const std::vector<double>& first, const std::vector<double>& second) {
  std::vector<double> a = first, b = second;
  drop_nan(a);
  drop_nan(b);
  if (a.empty() || b.empty()) return 1;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  double u = 0;  // pairs in which a is larger, ties half
  for (size_t i = 0, lo = 0, hi = 0; i < a.size(); ++i) {
    while (lo < b.size() && b[lo] < a[i]) ++lo;
    hi = std::max(hi, lo);
    while (hi < b.size() && b[hi] == a[i]) ++hi;
    u += static_cast<double>(lo) + 0.5 * static_cast<double>(hi - lo);
  }
  std::vector<double> all = a;
  all.insert(all.end(), b.begin(), b.end());
  const double ties = over_ties(all, [](double t) { return t * t * t - t; });
  const auto n = static_cast<int64_t>(a.size()), m = static_cast<int64_t>(b.size());
  if (ties == 0 && n * m <= 400 && log_choose(n + m, n) < std::log(200'000.0))
    return exact_rank_sum_p(a.size(), b.size(), static_cast<uint64_t>(u));
  const double dn = static_cast<double>(n), dm = static_cast<double>(m), dt = dn + dm;
  const double variance = dn * dm / 12 * (dt + 1 - ties / (dt * (dt - 1)));
  if (variance <= 0) return 1;
  const double excess = std::max(0.0, std::abs(u - dn * dm / 2) - 0.5);
  const double normal = two_sided_normal(excess / std::sqrt(variance));
  const double out_of_order = std::ceil(std::min(u, dn * dm - u));
  return out_of_order > 1000
             ? normal
             : std::min(normal, nearly_apart_p(std::min(n, m), n + m,
                                               static_cast<int64_t>(out_of_order), ties > 0));
}

double binomial_tail(int64_t n, int64_t k, double p) {
  if (k <= 0) return 1;
  if (k > n || p <= 0) return 0;
  if (p >= 1) return 1;
  return boost::math::ibeta(static_cast<double>(k), static_cast<double>(n - k + 1), p,
                            QuietPolicy());
}

double hypergeometric_tail(int64_t population, int64_t marked, int64_t draws, int64_t k) {
  double sum = 0;
  for (int64_t i = std::max<int64_t>(k, std::max<int64_t>(0, draws + marked - population));
       i <= std::min(marked, draws); ++i)
    sum += std::exp(log_choose(marked, i) + log_choose(population - marked, draws - i) -
                    log_choose(population, draws));
  return std::min(1.0, sum);
}

double student_two_sided(double t, double freedom) {
  if (!(freedom > 0) || t != t) return 1;
  if (std::isinf(t)) return 0;
  return boost::math::ibeta(freedom / 2, 0.5, freedom / (freedom + t * t), QuietPolicy());
}

double chi_squared_tail(double x, double freedom) {
  if (!(x > 0) || !(freedom > 0)) return 1;
  if (std::isinf(x)) return 0;
  return boost::math::gamma_q(freedom / 2, x / 2, QuietPolicy());
}

double f_tail(double f, double freedom1, double freedom2) {
  if (!(f > 0) || !(freedom1 > 0) || !(freedom2 > 0)) return 1;
  if (std::isinf(f)) return 0;
  return boost::math::ibeta(freedom2 / 2, freedom1 / 2, freedom2 / (freedom2 + freedom1 * f),
                            QuietPolicy());
}

std::pair<double, double> bootstrap_ratio(const std::vector<double>& first,
                                          const std::vector<double>& second, Statistic statistic,
                                          size_t repetitions, uint64_t seed) {
  const auto thin = [](const std::vector<double>& values) {
    constexpr size_t kMost = 2000;
    std::vector<double> v = values;
    drop_nan(v);
    if (v.size() <= kMost) return v;
    std::vector<double> thinned(kMost);
    for (size_t i = 0; i < kMost; ++i) thinned[i] = v[i * v.size() / kMost];
    return thinned;
  };
  const std::vector<double> a = thin(first), b = thin(second);
  if (a.size() < 2 || b.size() < 2) return {kNaNValue, kNaNValue};
  Random random(seed);
  const auto resample = [&random, statistic](const std::vector<double>& from) {
    std::vector<double> drawn(from.size());
    for (double& d : drawn) d = from[random.below(from.size())];
    return statistic == Statistic::mean ? mean(drawn) : firstwait::median(std::move(drawn));
  };
  std::vector<double> ratios;
  for (size_t i = 0; i < repetitions; ++i) {
    const double below = resample(a);
    if (below > 0) ratios.push_back(resample(b) / below);
  }
  return {quantile(ratios, 0.025), quantile(ratios, 0.975)};
}

std::vector<double> running_median(const std::vector<double>& values, size_t width) {
  std::vector<double> out(values.size());
  const size_t half = width / 2;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t lo = i > half ? i - half : 0, hi = std::min(values.size(), i + half + 1);
    out[i] = firstwait::median(
        {values.begin() + static_cast<ptrdiff_t>(lo), values.begin() + static_cast<ptrdiff_t>(hi)});
  }
  return out;
}

uint64_t Random::next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

double Random::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(6.283185307179586 * uniform());
}

}  // namespace firstwait
