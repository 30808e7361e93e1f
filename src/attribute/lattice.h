// Regularity of marked points on the integers: do they lie at phase + k * period?
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace firstwait {

struct Lattice {
  int32_t period = 0, phase = 0;  // point % period == phase
  size_t hits = 0,
         places = 0;   // marked points on it, and all points on it between its first and last hit
  double p_value = 1;  // corrected for the periods and phases tried
};

// The lattice of period >= 2 that best explains the marked points, when it is significant at kAlpha
// and holds at least half of its places. `points` are all positions that exist, ascending (gaps are
// allowed), `marked` a subset of them. Multiples of the period hold fewer hits and divisors fewer
// of their places, so the fundamental wins.
std::optional<Lattice> find_lattice(const std::vector<int32_t>& points,
                                    const std::vector<int32_t>& marked);

// Short periods in which so many steps are slow that none is usual (every second step): folds the
// logarithms of the values by step number and tests the phases against each other (F test). phase
// is that of the slowest.
std::optional<Lattice> find_dense_period(const std::vector<int32_t>& points,
                                         const std::vector<double>& logs);

// The same for times, which need not be exact multiples: the longest period with which the times
// agree (Rayleigh).
struct Rhythm {
  double period = 0;     // in the unit of the times
  double agreement = 0;  // mean resultant length, 0..1
  double p_value = 1;    // corrected for the periods tried
};
std::optional<Rhythm> find_rhythm(const std::vector<double>& times);

}  // namespace firstwait
