// For tests only: a comparison as of two short traces.
#pragma once
#include "model/comparison.h"

namespace firstwait::sample {

inline Comparison comparison() {
  Comparison c;
  c.before.label = "loader_workers_0";
  c.before.steps = 6;
  c.before.ranks = 1;
  c.before.level = EvidenceLevel::ops;
  c.before.mean_s = 0.1748;
  c.before.median_s = 0.1755;
  c.before.step_s = {0.164, 0.172, 0.175, 0.176, 0.181, 0.181};
  c.after.label = "loader_workers_4";
  c.after.steps = 6;
  c.after.ranks = 1;
  c.after.level = EvidenceLevel::ops;
  c.after.mean_s = 0.1397;
  c.after.median_s = 0.1262;
  c.after.step_s = {0.116, 0.121, 0.125, 0.127, 0.164, 0.182};
  c.after.outliers = {{5, -1, 0.164, 1.31, Phase::host}, {9, -1, 0.182, 1.45, Phase::host}};
  c.speedup_mean = 1.25;
  c.speedup_median = 1.39;
  c.speedup_ci = {1.07, 1.43};
  c.distinguishable = true;
  c.test = "Mann-Whitney U";
  c.p_value = 0.026;
  c.phases = {{Phase::input_wait, 0.0694, 0.0021}, {Phase::host, 0.0113, 0.041}};
  c.symptoms = {{"gpu_utilization", "ratio", "", 0.53, 0.71}};
  c.settings = {{"job/a", "loader.num_workers", "0", "4"}};
  return c;
}

}  // namespace firstwait::sample
