// The numbers that decide in attribute, each with where it comes from.
#pragma once
#include <cstddef>

namespace firstwait {

// A job counts as slowed down from 1.1 times its ideal time on: "Understanding Stragglers in Large
// Model Training Using What-if Analysis" (arXiv 2505.05713) calls jobs with S >= 1.1 straggling.
inline constexpr double kMinimumEffect = 1.1;
// Chance of any false alarm in one series, after correction for everything that was tried.
inline constexpr double kAlpha = 1e-3;
// A trend over the whole record. Schedules of healthy jobs move the step time by up to 1.10 (longer
// attention windows in the clean control of nanogpt_neighbour, run3; the common drift of worker_csv
// job_1 is 1.13): twice the larger.
inline constexpr double kMinimumDrift = 1.26;
// One slow step among its neighbours. The clean control's largest isolated excess is 1.13 and the
// smallest known slow step of the profiler traces (loader_workers_4, step 9) is 1.29: the geometric
// mean of the two.
inline constexpr double kOutlierRatio = 1.21;
// Modified z-score from which Iglewicz and Hoaglin (1993) call a value an outlier.
inline constexpr double kOutlierZ = 3.5;
// Regular or isolated slow steps that cost less than the jitter floor of a step time are no pattern
// (the 1 % of Robust).
inline constexpr double kMinimumCost = 0.01;
// With fewer peers a z-score says nothing (DESIGN section 5).
inline constexpr size_t kEnoughPeers = 5;
// Calibrated on the coefficients of variation between 10 workers of 100 production jobs (worker_csv
// coefficient_variation, 82,739 iterations). One worker at 1.1 times nine others adds 0.03 to it:
// in the quieter half of the jobs 95 % of the natural excursions of that size last at most 4
// iterations, so a straggler must last 5.
inline constexpr size_t kPersistentWindows = 5;
// Same data: the median job's workers differ by a coefficient of variation of 0.087. With too few
// peers to see the spread of this job, a standing difference must exceed three times that.
inline constexpr double kStandingRatioOfFew = 1.26;
// Below three times the 1 % floor of Robust a constant difference between ranks is not told from
// jitter.
inline constexpr double kStandingFloor = 0.03;
// A rank that is late without a past must be the slowest in most windows: half is the
// least that "most" can mean.
inline constexpr double kPersistentShare = 0.5;
// Confidence of the intervals that are reported.
inline constexpr double kIntervalAlpha = 0.05;

}  // namespace firstwait
