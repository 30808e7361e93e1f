// What a series in order says of its mean or median when neighbours resemble each other: n values
// are then worth fewer independent ones, and an error computed from n is too small.
#pragma once
#include <vector>

namespace firstwait {

// How many independent values have a mean as uncertain as that of this series: n over the
// integrated autocorrelation time, which is summed up to the first pair of lags that is not
// positive (initial monotone sequence, Geyer 1992, "Practical Markov chain Monte Carlo",
// Statistical Science 7). 1..n. Series of fewer than 20 values are too short to show it and count
// as they are.
double independent_values(const std::vector<double>& series);

struct Estimate {
  double value, error;  // the statistic and its standard error
  double independent;   // values behind the error
  double freedom;       // degrees of freedom of the error
};
// NaN for fewer than two values.
Estimate mean_of_series(const std::vector<double>& series);
// The error is half the distance of the order statistics one standard error of the rank away.
Estimate median_of_series(const std::vector<double>& series);

// Welch's t on the logarithm of the ratio a / b of two positive estimates: the 95 % interval leaves
// out 1 exactly when p < 0.05.
struct RatioTest {
  double ratio, low, high, p;
};
RatioTest compare_estimates(const Estimate& a, const Estimate& b);

}  // namespace firstwait
