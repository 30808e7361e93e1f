// Robust statistics over plain vectors. NaN values are ignored where a sample is taken; an empty
// sample gives NaN. Nothing here draws from an unseeded generator: the same input gives the same
// answer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace firstwait {

// The middle value (mean of the two middle ones). Linear time; `values` is a copy that gets
// reordered.
double median(std::vector<double> values);
int64_t median_int(std::vector<int64_t> values);  // the lower middle value, exact; 0 when empty
// Linear interpolation between order statistics (R type 7), q in 0..1.
double quantile(std::vector<double> values, double q);
double mean(std::span<const double> values);
// The mean without the outermost tenth at each end: what happens every other time counts, what
// happened once does not. Of fewer than ten values the median.
double middle_mean(std::vector<double> values);

// Location and scale that half of the sample cannot move. scale = max(1.4826 MAD, 1 % of |median|):
// below one per cent of the median, differences are rounding and jitter, whatever the MAD says.
struct Robust {
  double median = 0, scale = 0;
  size_t n = 0;
  double z(double x) const;  // 0 when the scale is 0 and x is the median
};
Robust robust(const std::vector<double>& values);

// robust() of a sample without one of its values: sorted once, then O(log n) for each.
class WithoutOne {
 public:
  explicit WithoutOne(std::vector<double> values);
  size_t size() const { return sorted_.size(); }
  // `value` is one of the sample; NaN, which is not: of the whole sample.
  Robust without(double value) const;

 private:
  std::vector<double> sorted_;
};

// Median slope over all pairs (Theil-Sen); above 1000 points, over a fixed spread of pairs of bin
// medians.
struct Trend {
  double slope = 0, intercept = 0;
};
Trend theil_sen(const std::vector<double>& x, const std::vector<double>& y);

// Two-sided p-value that a series in order has no monotone trend (Mann-Kendall, tie-corrected). O(n
// log n).
double mann_kendall_p(const std::vector<double>& y);

// Two-sided Wilcoxon-Mann-Whitney p-value: exact when C(n+m, n) is at most 200,000 and there are no
// ties, otherwise the normal approximation with ties and continuity corrected, or an upper bound of
// the exact value where a small sample hardly overlaps the other and that is smaller.
double rank_sum_p(const std::vector<double>& a, const std::vector<double>& b);

// P(X >= k) for X ~ Binomial(n, p).
double binomial_tail(int64_t n, int64_t k, double p);
// P(X >= k) when `draws` are taken from `population` with `marked` marked ones (one-sided Fisher).
double hypergeometric_tail(int64_t population, int64_t marked, int64_t draws, int64_t k);
// P(|T| >= |t|) for Student's t with `freedom` degrees of freedom.
double student_two_sided(double t, double freedom);
// P(X >= x) for chi-squared with `freedom` degrees of freedom.
double chi_squared_tail(double x, double freedom);
// P(F >= f).
double f_tail(double f, double freedom1, double freedom2);

// 95 % bootstrap interval of the ratio of b's statistic to a's: percentile method, fixed seed.
// Samples above 2000 values are thinned evenly. {NaN, NaN} when either has fewer than two values.
enum class Statistic : uint8_t { median, mean };
std::pair<double, double> bootstrap_ratio(const std::vector<double>& a,
                                          const std::vector<double>& b,
                                          Statistic statistic = Statistic::median,
                                          size_t repetitions = 500, uint64_t seed = 0x5eed);

// Median over a centred window of `width` (odd) values; shorter at the ends. O(n width).
std::vector<double> running_median(const std::vector<double>& values, size_t width);

// SplitMix64: small, seedable, the same everywhere (the standard distributions are not).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  size_t below(size_t bound) { return static_cast<size_t>(next() % bound); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  double normal();

 private:
  uint64_t state_;
};

}  // namespace firstwait
