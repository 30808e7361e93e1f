#include "explain/op_cells.h"

#include "base/stats.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "explain/placing.h"

namespace firstwait {
namespace {

struct Keyed {
  uint64_t key;  // step and microbatch
  double seconds;
};

double covariance(const std::vector<std::pair<double, double>>& p, double mx, double my) {
  double sum = 0;
  for (const auto& [x, y] : p) sum += (x - mx) * (y - my);
  return sum;
}

void correlate(std::vector<Keyed>& forward, std::vector<Keyed>& backward, WorkerCells& w) {
  const auto by_key = [](const Keyed& a, const Keyed& b) { return a.key < b.key; };
  std::sort(forward.begin(), forward.end(), by_key);
  std::sort(backward.begin(), backward.end(), by_key);
  std::vector<std::pair<double, double>> pairs;
  for (size_t f = 0, b = 0; f < forward.size() && b < backward.size();) {
    if (forward[f].key < backward[b].key) {
      ++f;
    } else if (backward[b].key < forward[f].key) {
      ++b;
    } else {
      pairs.emplace_back(forward[f++].seconds, backward[b++].seconds);
    }
  }
  w.pairs = pairs.size();
  if (pairs.size() < 2) return;
  double mx = 0, my = 0, xx = 0, yy = 0;
  for (const auto& [x, y] : pairs) mx += x, my += y;
  mx /= static_cast<double>(pairs.size());
  my /= static_cast<double>(pairs.size());
  for (const auto& [x, y] : pairs) xx += (x - mx) * (x - mx), yy += (y - my) * (y - my);
  if (xx > 0 && yy > 0) w.correlation = covariance(pairs, mx, my) / std::sqrt(xx * yy);
}

void finish(std::vector<Keyed>& forward, std::vector<Keyed>& backward, WorkerCells& w) {
  const auto seconds_of = [](const std::vector<Keyed>& list) {
    std::vector<double> values;
    values.reserve(list.size());
    for (const auto& k : list) values.push_back(k.seconds);
    return values;
  };
  w.compute_s = median_of(w.compute);
  w.forward_s = median_of(seconds_of(forward));
  w.backward_s = median_of(seconds_of(backward));
  double mean = 0, square = 0;
  for (const auto& k : forward) mean += k.seconds;
  mean /= static_cast<double>(forward.size());
  for (const auto& k : forward) square += (k.seconds - mean) * (k.seconds - mean);
  if (forward.size() > 1 && mean > 0)
    w.forward_cov = std::sqrt(square / static_cast<double>(forward.size() - 1)) / mean;
  correlate(forward, backward, w);
}

// The median of the others of the stage in a step (or over all, with step == SIZE_MAX).
double peers(const OpCells& cells, size_t dp, size_t stage, size_t step) {
  std::vector<double> values;
  for (size_t d = 0; d < cells.dps; ++d) {
    if (d == dp) continue;
    const auto& w = cells.at(d, stage);
    values.push_back(step == SIZE_MAX ? w.compute_s : w.compute[step]);
  }
  return median_of(std::move(values));
}

}  // namespace

double OpCells::ratio_in_stage(size_t dp, size_t stage) const {
  const double other = peers(*this, dp, stage, SIZE_MAX);
  return other > 0 ? at(dp, stage).compute_s / other : kNaN;
}

double OpCells::persistence(size_t dp, size_t stage, double margin) const {
  size_t above = 0;
  for (size_t s = 0; s < steps; ++s)
    if (at(dp, stage).compute[s] > (1 + margin) * peers(*this, dp, stage, s)) ++above;
  return steps > 0 ? static_cast<double>(above) / static_cast<double>(steps) : 0;
}

OpCells op_cells(const Evidence& evidence) {
  OpCells cells;
  const OpTable& t = evidence.ops;
  const NameId forward_id = evidence.names.find("forward-compute");
  const NameId backward_id = evidence.names.find("backward-compute");
  std::unordered_map<int32_t, size_t> step_index;
  for (size_t i = 0; i < t.size(); ++i) {
    cells.dps = std::max(cells.dps, static_cast<size_t>(std::max(t.dp_rank[i], 0)) + 1);
    cells.stages = std::max(cells.stages, static_cast<size_t>(std::max(t.stage[i], 0)) + 1);
    if (i == 0 || t.step[i] != t.step[i - 1]) step_index.try_emplace(t.step[i], step_index.size());
  }
  cells.steps = step_index.size();
  // Ranks that count up to nonsense make no grid.
  if (cells.dps > t.size() || cells.stages > t.size() ||
      cells.dps * cells.stages * cells.steps > t.size() + 1)
    return {};
  cells.workers.resize(cells.dps * cells.stages);
  std::vector<std::vector<Keyed>> forward(cells.workers.size()), backward(cells.workers.size());
  for (size_t w = 0; w < cells.workers.size(); ++w) {
    cells.workers[w].dp_rank = static_cast<int32_t>(w / cells.stages);
    cells.workers[w].stage = static_cast<int32_t>(w % cells.stages);
    cells.workers[w].compute.resize(cells.steps);
  }
  size_t step = 0;
  for (size_t i = 0; i < t.size(); ++i) {
    if (i == 0 || t.step[i] != t.step[i - 1]) step = step_index.find(t.step[i])->second;
    const bool is_forward = t.optype[i] == forward_id;
    if ((!is_forward && t.optype[i] != backward_id) || t.dp_rank[i] < 0 || t.stage[i] < 0) continue;
    const size_t w =
        static_cast<size_t>(t.dp_rank[i]) * cells.stages + static_cast<size_t>(t.stage[i]);
    const int32_t batch = t.microbatch[i] >= 0 ? t.microbatch[i] : t.seq[i];
    const auto part = static_cast<uint64_t>(static_cast<uint32_t>(batch)) ^
                      (static_cast<uint64_t>(static_cast<uint32_t>(t.model_chunk[i])) << 20);
    (is_forward ? forward : backward)[w].push_back({(uint64_t{step} << 40) ^ part, t.duration[i]});
    cells.workers[w].compute[step] += t.duration[i];
    cells.workers[w].rank = t.rank[i];
  }
  for (size_t w = 0; w < cells.workers.size(); ++w)
    if (!forward[w].empty() || !backward[w].empty())
      finish(forward[w], backward[w], cells.workers[w]);
  return cells;
}

const WhatIf* believable_replay(const View& view) {
  const auto& w = view.attribution.what_if;
  if (!w || !w->refused.empty() || !(w->slowdown > 0)) return nullptr;
  return std::fabs(w->replay_error) <= kReplayError.value ? &*w : nullptr;
}

std::string worker_entity(int32_t dp_rank, int32_t stage) {
  return fmt::format("worker/dp{}-stage{}", dp_rank, stage);
}

// 95 % bootstrap interval of the mean over steps of what stragglers cost. Unknown with fewer than two steps.
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
