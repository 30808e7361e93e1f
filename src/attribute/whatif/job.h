// The records of one pipeline-parallel job in columns: one row per operation, one cell per (dp
// rank, step).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/evidence.h"
#include "model/pipeline_ops.h"

namespace firstwait::whatif {

enum class OpType : uint8_t {
  forward_compute,
  backward_compute,
  forward_send,
  forward_recv,
  backward_send,
  backward_recv,
  params_all_gather,
  grads_reduce_scatter,
  layernorm_all_reduce,
  embedding_all_reduce,
  separate_all_reduce,
  clip,
  optimizer,
  gc
};
inline constexpr size_t kOpTypes = 14;
inline constexpr std::array<std::string_view, kOpTypes> kOpTypeNames = kPipelineOps;
constexpr size_t index(OpType t) { return static_cast<size_t>(t); }
constexpr bool is_p2p(OpType t) { return t >= OpType::forward_send && t <= OpType::backward_recv; }
constexpr bool is_compute(OpType t) { return t <= OpType::backward_compute; }

// An operation: (type, seq, stage) names it in every step and dp rank. The times are those of the
// reference, dp rank 0 in the first step: they order the graph.
struct Op {
  OpType type = OpType::gc;
  int32_t stage = 0, seq = 0;
  int32_t chunk = -1, global_chunk = -1, microbatch = -1;
  double start = 0, end = 0;
};

struct Job {
  size_t dps = 0, steps = 0, stages = 0, chunks = 1;  // chunks: model chunks per stage (vpp)
  std::vector<int32_t> step;                          // the step numbers
  std::vector<Op> ops;
  std::vector<float> start,
      duration;               // [op][dp rank][step], seconds, as recorded; compute in double
  std::vector<int32_t> rank;  // [dp rank][stage], the recorded rank; -1 unknown
  size_t dropped_steps = 0;   // incomplete ones at the ends
  std::vector<std::string> ignored_types;  // operations the graph does not know
  size_t cells() const { return dps * steps; }
  double end(size_t op, size_t cell) const {
    const size_t at = op * cells() + cell;
    return static_cast<double>(start[at]) + static_cast<double>(duration[at]);
  }
};

// Error when not every (step, dp rank) has exactly the same operations, after incomplete first and
// last steps are dropped.
Result<Job> load_job(const Evidence& evidence);

}  // namespace firstwait::whatif
