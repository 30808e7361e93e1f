// What the start times of steps can tell.
#pragma once
#include <cstddef>
#include <vector>

#include "model/phase.h"

namespace firstwait {

// Ranks that stand still for longer are taken for dead: the default timeout of a process group with
// NCCL in PyTorch. Longer between two steps, the job was stopped and started again.
inline constexpr Ns kLongestPause = 600'000'000'000;

// The coarsest decimal unit, at most a second, of which `of(row)` is a multiple for all rows: a
// time was told to that only.
template <typename Of>
Ns resolution(const std::vector<size_t>& rows, Of of) {
  Ns unit = 1'000'000'000;
  for (const size_t row : rows)
    while (unit > 1 && of(row) % unit != 0) unit /= 10;
  return unit;
}

}  // namespace firstwait
