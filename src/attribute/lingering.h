// Noise that lingers: neighbouring steps are alike, so that many of them say less than as many
// independent ones.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace firstwait {

// The variance of the mean of so many values, times their number (the spectral density at zero, by
// Geyer's initial positive sequence, Statistical Science 7, 1992). Of independent values their
// variance; NaN of fewer than two. In time order, all known.
double long_run_variance(std::span<const double> values);

// What a standard score must reach where it could lie at so many places: the normal tail's bound
// (exp(-z^2 / 2)) for a chance of kAlpha in all.
double z_needed(size_t places);

}  // namespace firstwait
