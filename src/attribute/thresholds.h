// The numbers that decide in attribute, each with where it comes from.
#pragma once
#include <cstddef>

namespace firstwait {

// A job counts as slowed down from 1.1 times its ideal time on: "Understanding Stragglers in Large
// Model Training Using What-if Analysis" (arXiv 2505.05713) calls jobs with S >= 1.1 straggling.
inline constexpr double kMinimumEffect = 1.1;
// Chance of any false alarm in one series, after correction for everything that was tried.
inline constexpr double kAlpha = 1e-3;
// Confidence of the intervals that are reported.
inline constexpr double kIntervalAlpha = 0.05;

}  // namespace firstwait
