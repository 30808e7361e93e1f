// Replays a graph with chosen durations, all steps and dp ranks at once.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "attribute/whatif/graph.h"
#include "attribute/whatif/job.h"

namespace firstwait::whatif {

// [op][dp rank][step]: transfer for operations that synchronise, else the duration. Seconds.
std::vector<double> own_durations(const Job& job, const Graph& graph, const Rules& rules = {});

// One number per operation type: the mean for compute, gc and optimizer, the median for the others.
std::array<double, kOpTypes> ideal_durations(const Job& job, const std::vector<double>& own,
                                             const Rules& rules = {});

// Whether an operation of a dp rank keeps its own durations (else it takes the ideal one).
using Keep = std::function<bool(const Op&, size_t dp)>;

class Replayer {
 public:
  // Everything must outlive this object.
  Replayer(const Job& job, const Graph& graph, const std::vector<double>& own,
           const std::array<double, kOpTypes>& ideal);
  // The ends of a block of steps: [op][dp rank][step of the block].
  struct Ends {
    const double* end;
    size_t first, width;
  };
  // The replayed step time of each step. `see` is shown the ends of every block.
  std::vector<double> run(const Keep& keep, const std::function<void(const Ends&)>& see = {});

 private:
  // When the members of a group may begin, [dp rank][step of the block].
  const double* ready(const Group& group, size_t width);
  void block(const std::vector<uint8_t>& keep, size_t first, size_t width, double* times);
  const Job& job_;
  const Graph& graph_;
  const std::vector<double>& own_;
  const std::array<double, kOpTypes>& ideal_;
  std::vector<uint8_t> may_end_last_;  // per operation
  size_t width_;               // steps per block: the ends of all operations then stay in the cache
  std::vector<double> end_;    // [op][dp rank][step of the block]
  std::vector<double> ready_;  // [dp rank][step of the block]
};

}  // namespace firstwait::whatif
