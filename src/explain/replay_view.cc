#include "explain/replay_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/stats.h"

namespace firstwait {

const WhatIf* believable_replay(const View& view) {
  const auto& w = view.attribution.what_if;
  if (!w || !w->refused.empty() || !(w->slowdown > 0)) return nullptr;
  return std::fabs(w->replay_error) <= kReplayError.value ? &*w : nullptr;
}

std::string worker_entity(int32_t dp_rank, int32_t stage) {
  return fmt::format("worker/dp{}-stage{}", dp_rank, stage);
}

// 95 % bootstrap interval of the mean over steps of what stragglers cost. Unknown with fewer than
// two steps.
static Interval mean_excess(const WhatIf& w) {
  const size_t n = w.nodelay_per_step.size();
  if (n < 2 || w.ideal_per_step.size() != n) return {};
  constexpr size_t kRepetitions = 1000;
  Random random(0x5eed);
  std::vector<double> means;
  for (size_t i = 0; i < kRepetitions; ++i) {
    double sum = 0;
    for (size_t k = 0; k < n; ++k) {
      const size_t step = random.below(n);
      sum += w.nodelay_per_step[step] - w.ideal_per_step[step];
    }
    means.push_back(sum / static_cast<double>(n));
  }
  return {quantile(means, 0.025), quantile(means, 0.975)};
}

void set_replay_effect(Verdict& verdict, const WhatIf& w, double removal, double addback) {
  if (verdict.outcome != Outcome::supported) return;
  const double excess = w.nodelay_s - w.ideal_s;
  const auto part = [&](double share) { return excess * std::clamp(share, 0.0, 1.0); };
  Effect effect;
  effect.seconds_per_step = part(removal);
  // Two sources of doubt: causes interact (removal and add-back differ), and steps vary.
  const double share_lo = std::clamp(std::min(removal, addback), 0.0, 1.0);
  const double share_hi = std::clamp(std::max(removal, addback), 0.0, 1.0);
  const Interval mean = mean_excess(w);
  effect.interval = mean.known() ? Interval{mean.lo * share_lo, mean.hi * share_hi}
                                 : Interval{part(share_lo), part(share_hi)};
  verdict.effect = effect;
}

}  // namespace firstwait
