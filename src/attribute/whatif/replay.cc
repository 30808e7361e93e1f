#include "attribute/whatif/replay.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace firstwait::whatif {
namespace {

// Clocks of one job's workers disagree by less: a transfer this negative means that the group did
// not synchronise.
constexpr double kNoTransfer = -0.010;
constexpr size_t kBlockBytes = 384 << 10;

// Written so that the compiler makes vector instructions of it.
void raise_to(double* __restrict to, const double* __restrict from, size_t n) {
  for (size_t i = 0; i < n; ++i) to[i] = from[i] > to[i] ? from[i] : to[i];
}

void larger_of(double* __restrict to, const double* __restrict a, const double* __restrict b,
               size_t n) {
  for (size_t i = 0; i < n; ++i) to[i] = a[i] > b[i] ? a[i] : b[i];
}

void add(double* __restrict to, const double* __restrict a, const double* __restrict b, size_t n) {
  for (size_t i = 0; i < n; ++i) to[i] = a[i] + b[i];
}

void add(double* __restrict to, const double* __restrict a, double b, size_t n) {
  for (size_t i = 0; i < n; ++i) to[i] = a[i] + b;
}

double median_of(std::vector<double>& values) {
  const size_t half = values.size() / 2;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(half);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace

std::vector<double> own_durations(const Job& job, const Graph& graph, const Rules& rules) {
  std::vector<double> own(job.duration.begin(), job.duration.end());
  if (rules.raw_grouped) return own;
  const size_t cells = job.cells(), steps = job.steps;
  std::vector<double> latest(cells);
  for (const Group& g : graph.groups) {
    if (!g.synchronises) continue;
    const uint32_t* members = graph.member.data() + g.first_member;
    std::copy_n(job.start.data() + members[0] * cells, cells, latest.data());
    for (size_t m = 1; m < g.members; ++m) {
      const float* start = job.start.data() + members[m] * cells;
      for (size_t c = 0; c < cells; ++c)
        latest[c] = std::max(latest[c], static_cast<double>(start[c]));
    }
    if (g.over_dp) {
      for (size_t d = 1; d < job.dps; ++d)
        raise_to(latest.data(), latest.data() + d * steps, steps);
      for (size_t d = 1; d < job.dps; ++d)
        std::copy_n(latest.data(), steps, latest.data() + d * steps);
    }
    for (size_t m = 0; m < g.members; ++m) {
      double* to = own.data() + members[m] * cells;
      const float* start = job.start.data() + members[m] * cells;
      for (size_t c = 0; c < cells; ++c) {
        const double transfer = static_cast<double>(start[c]) + to[c] - latest[c];
        to[c] = transfer <= kNoTransfer ? 0 : transfer;
      }
    }
  }
  return own;
}

std::array<double, kOpTypes> ideal_durations(const Job& job, const std::vector<double>& own,
                                             const Rules& rules) {
  std::array<double, kOpTypes> ideal{};
  const auto cells = static_cast<std::ptrdiff_t>(job.cells());
  std::vector<double> values;
  for (size_t t = 0; t < kOpTypes; ++t) {
    values.clear();
    for (size_t i = 0; i < job.ops.size(); ++i) {
      if (index(job.ops[i].type) != t) continue;
      const auto row = own.begin() + static_cast<std::ptrdiff_t>(i) * cells;
      values.insert(values.end(), row, row + cells);
    }
    if (values.empty()) continue;
    const auto type = static_cast<OpType>(t);
    bool mean = is_compute(type) || type == OpType::gc || type == OpType::optimizer;
    if (is_compute(type) && rules.median_compute) mean = false;
    if (type == OpType::layernorm_all_reduce && rules.mean_layernorm) mean = true;
    ideal[t] = mean ? std::accumulate(values.begin(), values.end(), 0.0) /
                          static_cast<double>(values.size())
                    : median_of(values);
  }
  return ideal;
}

Replayer::Replayer(const Job& job, const Graph& graph, const std::vector<double>& own,
                   const std::array<double, kOpTypes>& ideal)
    : job_(job), graph_(graph), own_(own), ideal_(ideal) {
  const size_t per_step = std::max<size_t>(1, job.ops.size() * job.dps * sizeof(double));
  const size_t most = std::max<size_t>(8, kBlockBytes / per_step);
  const size_t blocks = (job.steps + most - 1) / most;
  width_ = (job.steps + blocks - 1) / blocks;
  end_.resize(job.ops.size() * job.dps * width_);
  ready_.resize(job.dps * width_);
  // An operation that another waits for cannot end last, unless that one ends before it begins:
  // only then, and for those that nothing waits for, must the end be looked at.
  std::vector<uint8_t> forward(job.ops.size());
  const auto cells = static_cast<std::ptrdiff_t>(job.cells());
  for (size_t i = 0; i < job.ops.size(); ++i) {
    const auto row = own.begin() + static_cast<std::ptrdiff_t>(i) * cells;
    forward[i] =
        ideal[index(job.ops[i].type)] >= 0 && *std::min_element(row, row + cells) >= 0 ? 1 : 0;
  }
  may_end_last_.assign(job.ops.size(), 1);
  for (size_t i = 0; i < job.ops.size(); ++i) {
    if (forward[i] == 0) continue;
    for (const uint32_t d : graph.op_deps[i]) may_end_last_[d] = 0;
  }
}

std::vector<double> Replayer::run(const Keep& keep, const std::function<void(const Ends&)>& see) {
  std::vector<uint8_t> kept(job_.ops.size() * job_.dps);
  for (size_t i = 0; i < job_.ops.size(); ++i)
    for (size_t d = 0; d < job_.dps; ++d) kept[i * job_.dps + d] = keep(job_.ops[i], d) ? 1 : 0;
  std::vector<double> times(job_.steps);
  for (size_t first = 0; first < job_.steps; first += width_) {
    const size_t width = std::min(width_, job_.steps - first);
    block(kept, first, width, times.data() + first);
    if (see) see({end_.data(), first, width});
  }
  return times;
}

const double* Replayer::ready(const Group& g, size_t width) {
  const size_t dps = job_.dps, span = dps * width;
  const uint32_t* deps = graph_.dep.data() + g.first_dep;
  const auto end = [&](size_t i) { return end_.data() + deps[i] * span; };
  if (g.deps == 1 && !g.free_member && !g.over_dp) return end(0);
  double* to = ready_.data();
  size_t next = 0;
  if (g.free_member || g.deps == 0) {
    std::fill_n(to, span, 0.0);
  } else if (g.deps == 1) {
    std::copy_n(end(0), span, to);
    next = 1;
  } else {
    larger_of(to, end(0), end(1), span);
    next = 2;
  }
  for (; next < g.deps; ++next) raise_to(to, end(next), span);
  if (g.over_dp) {
    for (size_t d = 1; d < dps; ++d) raise_to(to, to + d * width, width);
    for (size_t d = 1; d < dps; ++d) std::copy_n(to, width, to + d * width);
  }
  return to;
}

void Replayer::block(const std::vector<uint8_t>& keep, size_t first, size_t width, double* times) {
  const size_t cells = job_.cells(), dps = job_.dps, span = dps * width;
  std::vector<double> latest(span, -HUGE_VAL);
  for (const Group& g : graph_.groups) {
    const double* from = ready(g, width);
    for (size_t m = 0; m < g.members; ++m) {
      const uint32_t op = graph_.member[g.first_member + m];
      const double ideal = ideal_[index(job_.ops[op].type)];
      double* to = end_.data() + op * span;
      for (size_t d = 0; d < dps; ++d) {
        if (keep[op * dps + d] != 0) {
          add(to + d * width, from + d * width, own_.data() + op * cells + d * job_.steps + first,
              width);
        } else {
          add(to + d * width, from + d * width, ideal, width);
        }
      }
      if (may_end_last_[op] != 0) raise_to(latest.data(), to, span);
    }
  }
  std::copy_n(latest.data(), width, times);
  for (size_t d = 1; d < dps; ++d) raise_to(times, latest.data() + d * width, width);
}

}  // namespace firstwait::whatif
