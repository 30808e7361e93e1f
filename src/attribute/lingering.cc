#include "attribute/lingering.h"

#include <algorithm>
#include <cmath>

#include "attribute/thresholds.h"
#include "base/stats.h"
#include "model/tables.h"

namespace firstwait {

double long_run_variance(std::span<const double> values) {
  constexpr size_t kMost = 1000;  // means of blocks linger as their values do
  if (values.size() < 2) return kNaN;
  const size_t block = (values.size() + kMost - 1) / kMost, n = values.size() / block;
  std::vector<double> x;
  for (size_t i = 0; i < n; ++i) x.push_back(mean(values.subspan(i * block, block)));
  const double middle = mean(x);
  for (double& v : x) v -= middle;
  const auto covariance = [&x, n](size_t lag) {
    double sum = 0;
    for (size_t i = 0; i + lag < n; ++i) sum += x[i] * x[i + lag];
    return sum / static_cast<double>(n);
  };
  const double variance = covariance(0);
  double sum = -variance;
  for (size_t lag = 0; 3 * lag < n; lag += 2) {
    const double pair = covariance(lag) + covariance(lag + 1);
    if (pair <= 0) break;
    sum += 2 * pair;
  }
  const double unbiased = static_cast<double>(n) / static_cast<double>(n - 1);
  return std::max(variance, sum) * unbiased * static_cast<double>(block);
}

double z_needed(size_t places) {
  return std::sqrt(2 * std::log(static_cast<double>(std::max<size_t>(1, places)) / kAlpha));
}

}  // namespace firstwait
