// For tests only: a view of a made-up pipeline-parallel job.
#pragma once
#include "attribute/testing/made_up.h"
#include "explain/hypothesis.h"

namespace firstwait {

struct OpView {
  Evidence evidence;
  Attribution attribution;

  OpView(int32_t dps, int32_t stages, const whatif::Cost& cost);
  ~OpView();
  View view() const { return {evidence, attribution}; }
};

// Deterministic noise of one percent.
inline double noise(int32_t a, int32_t b, int32_t c, int32_t d) {
  const auto x =
      static_cast<uint32_t>(a * 7919 + b * 104729 + c * 1299709 + d * 15485863) * 2654435761U;
  return 1 + 0.01 * (static_cast<double>(x >> 8) / double{1 << 24} - 0.5);
}
// Forward 0.1 s and backward 0.2 s of every worker, with noise.
inline double even(int32_t dp, int32_t stage, int32_t batch, int32_t step, bool backward) {
  return (backward ? 0.2 : 0.1) * noise(dp + 10 * stage, batch, step, backward ? 1 : 0);
}

}  // namespace firstwait
