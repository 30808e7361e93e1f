#include "attribute/whatif/results.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "attribute/whatif/replay.h"

namespace firstwait::whatif {
namespace {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// A ratio whose denominator may vanish: then it is not known.
double ratio(double a, double b) { return b != 0 ? a / b : kNaN; }

// A send and its recv are two operation types but one cause.
struct Cause {
  std::string_view name;
  OpType first, last;
};
constexpr Cause kCauses[] = {
    {"forward-compute", OpType::forward_compute, OpType::forward_compute},
    {"backward-compute", OpType::backward_compute, OpType::backward_compute},
    {"forward-pp-comm", OpType::forward_send, OpType::forward_recv},
    {"backward-pp-comm", OpType::backward_send, OpType::backward_recv},
    {"params-all-gather", OpType::params_all_gather, OpType::params_all_gather},
    {"grads-reduce-scatter", OpType::grads_reduce_scatter, OpType::grads_reduce_scatter},
    {"layernorm-grads-all-reduce", OpType::layernorm_all_reduce, OpType::layernorm_all_reduce},
    {"embedding-grads-all-reduce", OpType::embedding_all_reduce, OpType::embedding_all_reduce},
    {"separate-grads-all-reduce", OpType::separate_all_reduce, OpType::separate_all_reduce},
    {"optimizer-clip-main-grad", OpType::clip, OpType::clip},
    {"optimizer", OpType::optimizer, OpType::optimizer},
    {"gc", OpType::gc, OpType::gc}};

double median_of(std::vector<double> values) {
  if (values.empty()) return kNaN;
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  if (values.size() % 2 == 1) return *half;
  return (*std::max_element(values.begin(), half) + *half) / 2;
}

// GPUs of one model differ by this much on average (Sinha et al., "Not All GPUs Are Created Equal",
// SC'22).
constexpr double kUsualSpread = 0.08;

// Forward + backward of a worker in each step.
std::vector<double> compute_per_step(const Job& job, size_t dp, size_t stage) {
  std::vector<double> sum(job.steps);
  for (size_t i = 0; i < job.ops.size(); ++i) {
    if (!is_compute(job.ops[i].type) || static_cast<size_t>(job.ops[i].stage) != stage) continue;
    const float* row = job.duration.data() + i * job.cells() + dp * job.steps;
    for (size_t s = 0; s < job.steps; ++s) sum[s] += row[s];
  }
  return sum;
}

// Moments of pairs around a point near their means.
struct Moments {
  double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  void add(double dx, double dy) {
    n += 1;
    x += dx;
    y += dy;
    xx += dx * dx;
    yy += dy * dy;
    xy += dx * dy;
  }
  double variance_x() const { return std::max(0.0, xx / n - x / n * (x / n)); }
  double variance_y() const { return std::max(0.0, yy / n - y / n * (y / n)); }
  double covariance() const { return xy / n - x / n * (y / n); }
};

// How forward varies within the worker, and whether backward of the same microbatch varies with it.
void compute_of(const Job& job, size_t dp, size_t stage, WhatIf::Worker& worker) {
  std::map<std::pair<int32_t, int32_t>, size_t> forward;  // (chunk, microbatch) -> operation
  const auto key = [](const Op& op) {
    return std::pair(op.chunk, op.microbatch >= 0 ? op.microbatch : op.seq);
  };
  const auto of_worker = [&](const Op& op, OpType type) {
    return op.type == type && static_cast<size_t>(op.stage) == stage;
  };
  const auto row = [&](size_t op) {
    return job.duration.data() + op * job.cells() + dp * job.steps;
  };
  double base_x = 0, base_y = 0;
  Moments all, pairs;
  for (size_t i = 0; i < job.ops.size(); ++i) {
    if (!of_worker(job.ops[i], OpType::forward_compute)) continue;
    if (forward.empty()) base_x = row(i)[0];
    forward.emplace(key(job.ops[i]), i);
    for (size_t s = 0; s < job.steps; ++s) all.add(row(i)[s] - base_x, 0);
  }
  if (all.n >= 2) {
    const double mean_x = base_x + all.x / all.n;
    if (mean_x > 0) worker.forward_variation = std::sqrt(all.variance_x()) / mean_x;
  }
  for (size_t i = 0; i < job.ops.size(); ++i) {
    if (!of_worker(job.ops[i], OpType::backward_compute)) continue;
    const auto f = forward.find(key(job.ops[i]));
    if (f == forward.end()) continue;
    if (pairs.n == 0) base_y = row(i)[0];
    for (size_t s = 0; s < job.steps; ++s)
      pairs.add(row(f->second)[s] - base_x, row(i)[s] - base_y);
  }
  worker.microbatches = static_cast<int64_t>(pairs.n);
  if (pairs.n < 2) return;
  const double spread = std::sqrt(pairs.variance_x() * pairs.variance_y());
  if (spread > 0) worker.correlation = pairs.covariance() / spread;
}

// `workers` in the order [dp rank][stage].
void compare_in_stage(const Job& job, std::vector<WhatIf::Worker>& workers) {
  for (size_t stage = 0; stage < job.stages; ++stage) {
    std::vector<std::vector<double>> compute;
    for (size_t d = 0; d < job.dps; ++d) compute.push_back(compute_per_step(job, d, stage));
    for (size_t d = 0; d < job.dps; ++d)
      workers[d * job.stages + stage].compute_s = median_of(compute[d]);
    if (job.dps < 2) continue;
    for (size_t d = 0; d < job.dps; ++d) {
      WhatIf::Worker& worker = workers[d * job.stages + stage];
      std::vector<double> others;
      for (size_t o = 0; o < job.dps; ++o)
        if (o != d) others.push_back(workers[o * job.stages + stage].compute_s);
      worker.ratio_in_stage = ratio(worker.compute_s, median_of(others));
      size_t above = 0;
      for (size_t s = 0; s < job.steps; ++s) {
        others.clear();
        for (size_t o = 0; o < job.dps; ++o)
          if (o != d) others.push_back(compute[o][s]);
        if (compute[d][s] > (1 + kUsualSpread) * median_of(others)) ++above;
      }
      worker.persistence = static_cast<double>(above) / static_cast<double>(job.steps);
    }
  }
}

void worker_scores(const Job& job, WhatIf& w) {
  for (size_t d = 0; d < job.dps; ++d)
    for (size_t s = 0; s < job.stages; ++s) {
      WhatIf::Worker worker;
      worker.dp_rank = static_cast<int32_t>(d);
      worker.stage = static_cast<int32_t>(s);
      worker.score = std::min(w.by_dp_rank[d], w.by_stage[s]);
      worker.rank = job.rank[d * job.stages + s];
      if (worker.rank < 0) worker.rank = static_cast<int32_t>(d * job.stages + s);
      compute_of(job, d, s, worker);
      w.workers.push_back(worker);
    }
  compare_in_stage(job, w.workers);
  std::stable_sort(w.workers.begin(), w.workers.end(),
                   [](const auto& a, const auto& b) { return a.score > b.score; });
  const size_t taken = (3 * w.workers.size() + 99) / 100;  // 3 % of them, rounded up
  w.top.assign(w.workers.begin(), w.workers.begin() + static_cast<std::ptrdiff_t>(taken));
}

}  // namespace

std::vector<double> measured_times(const Job& job) {
  std::vector<double> times(job.steps);
  for (size_t s = 0; s < job.steps; ++s) times[s] = job.end(0, s);
  for (size_t i = 0; i < job.ops.size(); ++i)
    for (size_t d = 0; d < job.dps; ++d)
      for (size_t s = 0; s < job.steps; ++s)
        times[s] = std::max(times[s], job.end(i, d * job.steps + s));
  return times;
}

WhatIf replay_results(const Job& job, const Graph& graph, const std::vector<double>& own,
                      const Rules& rules) {
  WhatIf w;
  w.dropped_steps = static_cast<int32_t>(job.dropped_steps);
  w.ignored_ops = job.ignored_types;
  w.step = job.step;
  const auto ideal = ideal_durations(job, own, rules);
  Replayer replayer(job, graph, own, ideal);
  w.base_per_step = measured_times(job);
  w.nodelay_per_step = replayer.run([](const Op&, size_t) { return true; });
  w.ideal_per_step = replayer.run([](const Op&, size_t) { return false; });
  w.base_s = mean(w.base_per_step);
  w.nodelay_s = mean(w.nodelay_per_step);
  w.ideal_s = mean(w.ideal_per_step);
  if (!(w.nodelay_s > 0) || !(w.ideal_s > 0)) {
    w.refused = "the operations take no time";
    return w;
  }
  w.replay_error = w.base_s / w.nodelay_s - 1;
  w.slowdown = w.nodelay_s / w.ideal_s;
  const auto share = [&](const Keep& keep) { return mean(replayer.run(keep)) / w.ideal_s; };
  for (size_t d = 0; d < job.dps; ++d)
    w.by_dp_rank.push_back(share([d](const Op&, size_t of) { return of == d; }));
  for (size_t s = 0; s < job.stages; ++s)
    w.by_stage.push_back(
        share([s](const Op& op, size_t) { return static_cast<size_t>(op.stage) == s; }));
  for (const Cause& cause : kCauses) {
    const auto of_cause = [&](const Op& op, size_t = 0) {
      return op.type >= cause.first && op.type <= cause.last;
    };
    if (std::any_of(job.ops.begin(), job.ops.end(), of_cause))
      w.by_op.push_back({std::string(cause.name), share(of_cause)});
  }
  worker_scores(job, w);
  std::vector<uint8_t> top(job.dps * job.stages);
  for (const auto& t : w.top)
    top[static_cast<size_t>(t.dp_rank) * job.stages + static_cast<size_t>(t.stage)] = 1;
  const auto in_top = [&](const Op& op, size_t d) {
    return top[d * job.stages + static_cast<size_t>(op.stage)] != 0;
  };
  const auto in_last = [&](const Op& op, size_t) {
    return static_cast<size_t>(op.stage) + 1 == job.stages;
  };
  const double excess = w.nodelay_s - w.ideal_s;
  const auto removal = [&](const Keep& taken) {
    const double without =
        mean(replayer.run([&](const Op& op, size_t d) { return !taken(op, d); }));
    return ratio(w.nodelay_s - without, excess);
  };
  w.worker_share_removal = removal(in_top);
  w.worker_share_addback = ratio(mean(replayer.run(in_top)) - w.ideal_s, excess);
  w.stage_share_removal = removal(in_last);
  w.stage_share_addback = ratio((w.by_stage.back() - 1) * w.ideal_s, excess);
  return w;
}

}  // namespace firstwait::whatif
