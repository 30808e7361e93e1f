// Lasting changes of the level of a series, and which of them explains the present.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

namespace firstwait {

// The level changed before `at`: values[at] is the first of the new level.
struct Change {
  size_t at = 0;
  size_t lo = 0, hi = 0;  // 95 % interval of `at`, inclusive
};

// Stretches of one level. Stretches meet: last + 1 of one is first of the next.
struct Stretch {
  size_t first = 0, last = 0;
  double level = 0;  // median
  size_t size() const { return last - first + 1; }
};

struct Changes {
  std::vector<Change> changes;
  std::vector<Stretch> stretches;  // one more than changes; empty for an empty series
};

// Seeded binary segmentation (Kovacs et al. 2020, doi 10.1093/biomet/asac052) with
// narrowest-over-threshold selection (Baranowski et al. 2019) on ranks, so that isolated outliers,
// however large, cannot make a change; a t-test on winsorised logarithms where there are too few
// values for ranks. Every change is significant at kAlpha after correction for the splits tried and
// at least kMinimumEffect in ratio. Positions are refined at full resolution; the intervals come
// from a residual bootstrap with a fixed seed. O(n log n). Values must be positive.
Changes find_changes(const std::vector<double>& values);

// The change that explains why the end is slower than some stretch before: everything after it
// stays at least kMinimumEffect above the stretch before it, and it is the largest such rise. Index
// into changes.
std::optional<size_t> explaining_change(const Changes& changes);

// Stretches that were slower than what came before and after, or at the start slower than what
// followed: over now.
std::vector<Stretch> past_episodes(const Changes& changes);

// A monotone trend: significant by Mann-Kendall on medians of bins, and the fitted line rises or
// falls enough over the series to matter. `ratio` is end over start of the line.
struct Drift {
  double ratio = 1;
  bool found = false;
  double misfit = 0;  // mean absolute residual of the logarithms
};
Drift find_drift(const std::vector<double>& values);
// Mean absolute residual of the logarithms around the stretches' levels, comparable with
// Drift::misfit.
double misfit(const std::vector<double>& values, const Changes& changes);

}  // namespace firstwait
