// Two runs, or two windows of one, compared: what explain's comparison says and present shows.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/attribution.h"
#include "model/health.h"
#include "model/verdict.h"

namespace firstwait {

// One of the two. Everything that was not measured is NaN, negative or empty as elsewhere in the
// model.
struct ComparedSide {
  std::string label;  // what the user named: the path, or a window
  std::string job;    // may be empty
  int64_t steps = 0;  // steps that were compared
  int32_t ranks = -1;
  EvidenceLevel level = EvidenceLevel::none;
  double mean_s = kNaN, median_s = kNaN;
  double productive_fraction = kNaN;
  std::vector<double> step_s;  // the compared step times, for the distributions
  std::vector<Outlier> outliers;
};

struct ComparedPhase {
  Phase phase = Phase::unexplained;
  std::optional<double> before_s, after_s;  // mean seconds per step
};

struct ComparedSetting {
  std::string entity, key, before, after;  // "" on the side that lacks it
};

// A what-if said earlier for the change that was made.
struct PredictedGain {
  std::string action;  // "loader.more_workers"
  Interval speedup;
  std::string verdict;  // "inside the interval", "less than predicted", ...; may be empty
};

struct Comparison {
  ComparedSide before, after;
  bool unitless = false;  // the step times of both are relative numbers, no seconds
  double speedup_mean = kNaN, speedup_median = kNaN;  // before over after: above 1 is faster now
  Interval speedup_ci;                                // 95 %, of `ci_of`
  std::string ci_of = "mean";                         // "mean" or "median"
  std::optional<bool> distinguishable;                // absent: too few steps to tell
  std::string test;                                   // "Mann-Whitney U"
  double p_value = kNaN;
  std::string headline;               // one sentence
  std::vector<ComparedPhase> phases;  // the largest change first
  std::vector<Symptom> symptoms;
  std::vector<ComparedSetting> settings;  // those that differ
  std::vector<Event> events;              // changes recorded between or during the two
  std::vector<Observation> observations;  // "the device differs", ...
  std::optional<PredictedGain> predicted;
  std::vector<HealthEntry> input_health;
};

}  // namespace firstwait
