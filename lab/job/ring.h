// Ring all-reduce over TCP, as NCCL and gloo do it: 2 (n - 1) rounds, each rank sends to the next
// and receives from the one before.
#pragma once
#include <string>
#include <vector>

#include "params.h"

namespace lab {

class Ring {
 public:
  // Waits up to a minute for the neighbours. False when they did not come.
  bool connect(const Params& p, int rank);
  // Adds up `values` over all ranks. False when a neighbour is gone.
  bool all_reduce(std::vector<float>& values);
  ~Ring();
  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

 private:
  bool exchange(const float* out, size_t out_count, float* in, size_t in_count);
  int ranks_ = 1, rank_ = 0, next_ = -1, previous_ = -1;
  std::vector<float> received_;
};

}  // namespace lab
