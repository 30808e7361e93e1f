// The operations of a pipeline-parallel step that the replay knows.
#pragma once
#include <array>
#include <string_view>

namespace firstwait {

inline constexpr std::array<std::string_view, 14> kPipelineOps = {"forward-compute",
                                                                  "backward-compute",
                                                                  "forward-send",
                                                                  "forward-recv",
                                                                  "backward-send",
                                                                  "backward-recv",
                                                                  "params-all-gather",
                                                                  "grads-reduce-scatter",
                                                                  "layernorm-grads-all-reduce",
                                                                  "embedding-grads-all-reduce",
                                                                  "separate-grads-all-reduce",
                                                                  "optimizer-clip-main-grad",
                                                                  "optimizer",
                                                                  "gc"};
inline bool is_pipeline_op(std::string_view name) {
  for (const auto op : kPipelineOps)
    if (op == name) return true;
  return false;
}

}  // namespace firstwait
