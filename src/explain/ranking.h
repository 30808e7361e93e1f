// Ranks verdicts: rivals for one ledger phase compete with each other and with "unknown" (log odds
// 0).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "explain/hypothesis.h"

namespace firstwait {

struct Tested {
  const Hypothesis* hypothesis = nullptr;
  Verdict verdict;
  std::optional<Phase> cell;  // the phase for which it competes; nothing: a fact of its own
  double confidence = 0;      // 0..0.99, when supported
  const Hypothesis* deeper =
      nullptr;  // the cause of whose chain this one is a link; then it is no finding
};

// Tests every hypothesis over the view, in the order of the registry.
std::vector<Tested> test_all(const View& view);

// Fills cell, confidence and deeper. `doubt` is taken off every log-odds: lost data makes all
// causes less sure.
void rank(const View& view, double doubt, std::vector<Tested>& tested);

// Log-odds to take off for what the inputs lost: 0.5 a source that lost data, at most 1.5. Of what
// may be wrong (corrupt archives) nothing short of very strong evidence is believed, in
// proportion to its share of all that was read.
double doubt_from_health(const Evidence& evidence);

inline constexpr double kMostConfidence = 0.99;

}  // namespace firstwait
