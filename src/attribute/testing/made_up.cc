#include "attribute/testing/made_up.h"

#include <algorithm>
#include <vector>

namespace firstwait::whatif {

Evidence made_up_job(int32_t dps, int32_t stages, int32_t batches, int32_t steps,
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
