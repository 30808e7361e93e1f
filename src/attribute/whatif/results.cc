#include "attribute/whatif/results.h"

#include <algorithm>
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

std::vector<double> measured_times(const Job& job) {
  std::vector<double> times(job.steps);
  for (size_t s = 0; s < job.steps; ++s) times[s] = job.end(0, s);
  for (size_t i = 0; i < job.ops.size(); ++i)
    for (size_t d = 0; d < job.dps; ++d)
      for (size_t s = 0; s < job.steps; ++s)
        times[s] = std::max(times[s], job.end(i, d * job.steps + s));
  return times;
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
      w.workers.push_back(worker);
    }
  std::stable_sort(w.workers.begin(), w.workers.end(),
                   [](const auto& a, const auto& b) { return a.score > b.score; });
  const size_t taken = (3 * w.workers.size() + 99) / 100;  // 3 % of them, rounded up
  w.top.assign(w.workers.begin(), w.workers.begin() + static_cast<std::ptrdiff_t>(taken));
}

}  // namespace

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
