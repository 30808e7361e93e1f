// For tests only: evidence with given step times, and reproducible noise.
#pragma once
#include <cmath>
#include <functional>

#include "base/stats.h"
#include "model/evidence.h"

namespace firstwait {

// One rank per call; `milliseconds(step)` is multiplied by exp(noise * normal).
inline void add_rank(Evidence& evidence, int32_t rank, int32_t steps, double noise,
                     const std::function<double(int32_t)>& milliseconds) {
  Random random(static_cast<uint64_t>(rank) + 17);
  Ns at = 1'760'000'000'000'000'000;
  for (int32_t s = 0; s < steps; ++s) {
    const auto time = static_cast<Ns>(milliseconds(s) * std::exp(noise * random.normal()) * 1e6);
    evidence.steps.append(kNoName, rank, s, at, time);
    at += time;
  }
}

inline Evidence one_rank(int32_t steps, double noise,
                         const std::function<double(int32_t)>& milliseconds) {
  Evidence evidence;
  add_rank(evidence, 0, steps, noise, milliseconds);
  return evidence;
}

}  // namespace firstwait
