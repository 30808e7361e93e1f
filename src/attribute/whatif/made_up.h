// For tests only: writes op records by hand.
#pragma once
#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

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
inline Evidence made_up_job(int32_t dps, int32_t stages, int32_t batches, int32_t steps,
                            const Cost& cost) {
  MadeUp m;
  constexpr double kHop = 0.001, kScatter = 0.005, kOptimizer = 0.010;
  using Grid = std::vector<std::vector<double>>;
  const auto grid = [&] {
    return Grid(static_cast<size_t>(stages), std::vector<double>(static_cast<size_t>(batches)));
  };
  for (int32_t step = 0; step < steps; ++step) {
    Grid last(static_cast<size_t>(dps), std::vector<double>(static_cast<size_t>(stages)));
    for (int32_t d = 0; d < dps; ++d) {
      Grid forward = grid(), backward = grid();
      std::vector<double> sent(static_cast<size_t>(stages));
      for (int32_t b = 0; b < batches; ++b)
        for (int32_t s = 0; s < stages; ++s) {
          const auto us = static_cast<size_t>(s), ub = static_cast<size_t>(b);
          const double free = b > 0 ? forward[us][ub - 1] : 0;
          double begin = free;
          if (s > 0) {
            const double from = std::max(forward[us - 1][ub], sent[us - 1]);
            const double meet = std::max(from, free);
            m.at(d, s - 1, step).op("forward-send", b, from, meet + kHop - from);
            m.at(d, s, step).op("forward-recv", b, free, meet + kHop - free);
            sent[us - 1] = begin = meet + kHop;
          }
          const double time = cost(d, s, b, step, false);
          m.at(d, s, step).op("forward-compute", b, begin, time, 0, s);
          m.evidence.ops.microbatch.back() = b;
          forward[us][ub] = begin + time;
        }
      std::fill(sent.begin(), sent.end(), 0);
      for (int32_t b = 0; b < batches; ++b)
        for (int32_t s = stages - 1; s >= 0; --s) {
          const auto us = static_cast<size_t>(s), ub = static_cast<size_t>(b);
          const double free = b > 0 ? backward[us][ub - 1] : forward[us].back();
          double begin = free;
          if (s + 1 < stages) {
            const double early = batches > 1 ? forward[us][static_cast<size_t>(batches) - 2] : 0;
            const double posted = b > 0 ? free : early;
            const double from = std::max(backward[us + 1][ub], sent[us + 1]);
            const double meet = std::max(from, posted);
            m.at(d, s + 1, step).op("backward-send", b, from, meet + kHop - from);
            m.at(d, s, step).op("backward-recv", b, posted, meet + kHop - posted);
            sent[us + 1] = meet + kHop;
            begin = std::max(free, meet + kHop);
          }
          const double time = cost(d, s, b, step, true);
          m.at(d, s, step).op("backward-compute", b, begin, time, 0, s);
          m.evidence.ops.microbatch.back() = b;
          backward[us][ub] = begin + time;
          last[static_cast<size_t>(d)][us] = begin + time;
        }
    }
    for (int32_t s = 0; s < stages; ++s) {
      double latest = 0;
      for (const auto& l : last) latest = std::max(latest, l[static_cast<size_t>(s)]);
      for (int32_t d = 0; d < dps; ++d) {
        const double from = last[static_cast<size_t>(d)][static_cast<size_t>(s)];
        m.at(d, s, step).op("grads-reduce-scatter", 0, from, latest + kScatter - from, 0);
        m.op("optimizer", 0, latest + kScatter, kOptimizer);
      }
    }
  }
  return std::move(m.evidence);
}

}  // namespace firstwait::whatif
