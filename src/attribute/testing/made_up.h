// For tests only: writes op records by hand.
#pragma once
#include <functional>
#include <string_view>

#include "model/evidence.h"

namespace firstwait::whatif {

struct MadeUp {
  Evidence evidence;
  int32_t dp = 0, stage = 0, step = 0;

  MadeUp& at(int32_t of_dp, int32_t of_stage, int32_t of_step = 0) {
    dp = of_dp;
    stage = of_stage;
    step = of_step;
    return *this;
  }
  MadeUp& op(std::string_view type, int32_t seq, double start, double duration, int32_t chunk = -1,
             int32_t global_chunk = -1) {
    OpTable& t = evidence.ops;
    t.dp_rank.push_back(dp);
    t.stage.push_back(stage);
    t.rank.push_back(100 + 10 * dp + stage);
    t.step.push_back(step);
    t.optype.push_back(evidence.names.intern(type));
    t.start.push_back(static_cast<float>(start));
    t.duration.push_back(static_cast<float>(duration));
    t.seq.push_back(seq);
    t.model_chunk.push_back(chunk);
    t.global_model_chunk.push_back(global_chunk);
    t.microbatch.push_back(-1);
    return *this;
  }
};

// Seconds of one compute operation.
using Cost =
    std::function<double(int32_t dp, int32_t stage, int32_t batch, int32_t step, bool backward)>;

// A whole job that obeys the graph: all forwards, then all backwards; transfers of 1 ms between
// stages, a scatter of 5 ms that joins the dp ranks, an optimizer of 10 ms.
Evidence made_up_job(int32_t dps, int32_t stages, int32_t batches, int32_t steps, const Cost& cost);

}  // namespace firstwait::whatif
