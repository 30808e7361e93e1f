// A hypothesis: a possible cause that can be tested. One file each in hypotheses/, named like its
// id with the first dot replaced: input_cpu_saturated.cc defines hypothesis_input_cpu_saturated
// with id "input.cpu_saturated".
#pragma once
#include <span>
#include <string_view>

#include "base/registered.h"
#include "explain/view.h"
#include "model/verdict.h"

namespace firstwait {

// What a hypothesis may look at.
struct Threshold {
  std::string_view name;
  double value;
  std::string_view unit;
  std::string_view source;  // a paper, a vendor's manual, a calibration; never "experience"
};

struct Hypothesis {
  std::string_view id;                      // stable: "input.cpu_saturated"
  std::string_view claim;                   // what it claims, one clause without a full stop
  std::string_view decides;                 // what decides it
  std::span<const Phase> accounts_for;      // ledger phases it can explain
  std::span<const std::string_view> needs;  // signals: metric names, settings, record kinds
  std::span<const Threshold> thresholds;
  int checklist_step;  // 1..7
  double prior;        // log prior odds against "unknown"; 0 when nothing is known
  Verdict (*test)(const View&);
};

std::span<const Registered<Hypothesis>> hypotheses();

}  // namespace firstwait
