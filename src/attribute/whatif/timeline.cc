#include "attribute/whatif/timeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "attribute/whatif/replay.h"
#include "attribute/whatif/results.h"

namespace firstwait::whatif {
namespace {

// What a moment of a worker counts as when several operations run: the first of these that does.
enum Kind : uint8_t {
  k_forward,
  k_backward,
  k_optimizer,
  k_gc,
  k_collective,
  k_p2p,
  k_collective_wait,
  k_p2p_wait,
  k_kinds
};
constexpr std::array<Phase, k_kinds> kPhaseOfKind = {
    Phase::forward,    Phase::backward, Phase::optimizer,  Phase::gc,
    Phase::collective, Phase::p2p,      Phase::collective, Phase::p2p};

Kind kind_of(OpType t) {
  switch (t) {
    case OpType::forward_compute:
      return k_forward;
    case OpType::backward_compute:
      return k_backward;
    case OpType::optimizer:
      return k_optimizer;
    case OpType::gc:
      return k_gc;
    default:
      return is_p2p(t) ? k_p2p : k_collective;
  }
}
Phase phase_of(OpType t) { return kPhaseOfKind[kind_of(t)]; }

// Records are within 1e9 s, but a replay may add many up.
Ns to_ns(double seconds) {
  const double ns = std::clamp(seconds, -9e9, 9e9) * 1e9;
  return static_cast<Ns>(ns < 0 ? ns - 0.5 : ns + 0.5);
}

// Adds up what each kind gets of one worker's step.
class Cover {
 public:
  // The same operations in the same order, step after step, hardly change the order of the
  // boundaries: it is kept.
  void clear(size_t boundaries) {
    if (order_.size() != boundaries) {
      order_.resize(boundaries);
      std::iota(order_.begin(), order_.end(), 0U);
      marks_.resize(boundaries);
    }
    used_ = 0;
    last_ = 0;
  }
  // Two boundaries.
  void add(Ns start, Ns end, Kind kind) {
    start = std::max<Ns>(start, 0);
    end = std::max(start, end);
    marks_[used_++] = {start, k_kinds, kind};
    marks_[used_++] = {end, kind, k_kinds};
    last_ = std::max(last_, end);
  }
  // Three boundaries: [start, middle) counts as `before`, [middle, end) as `kind`.
  void add(Ns start, Ns middle, Ns end, Kind before, Kind kind) {
    start = std::max<Ns>(start, 0);
    end = std::max(start, end);
    middle = std::clamp(middle, start, end);
    marks_[used_++] = {start, k_kinds, before};
    marks_[used_++] = {middle, before, kind};
    marks_[used_++] = {end, kind, k_kinds};
    last_ = std::max(last_, end);
  }
  std::array<Ns, k_kinds> sums() {
    sort();
    std::array<Ns, k_kinds> sums{};
    std::array<int32_t, k_kinds + 1> active{};
    uint32_t mask = 0;
    Ns at = 0;
    for (const uint32_t i : order_) {
      const Mark& m = marks_[i];
      if (mask != 0) sums[static_cast<size_t>(__builtin_ctz(mask))] += m.time - at;
      at = m.time;
      if (m.ends != k_kinds && --active[m.ends] == 0) mask &= ~(1U << m.ends);
      if (m.begins != k_kinds && active[m.begins]++ == 0) mask |= 1U << m.begins;
    }
    return sums;
  }
  Ns last() const { return last_; }

 private:
  struct Mark {
    Ns time;
    Kind ends, begins;  // k_kinds: none
  };
  // An operation's own boundaries stay in their order, so that none ends before it begins.
  bool before(uint32_t a, uint32_t b) const {
    return marks_[a].time != marks_[b].time ? marks_[a].time < marks_[b].time : a < b;
  }
  void sort() {
    size_t moves = 0;
    const size_t most = 16 * order_.size() + 64;
    for (size_t i = 1; i < order_.size() && moves <= most; ++i) {
      const uint32_t mark = order_[i];
      size_t to = i;
      for (; to > 0 && before(mark, order_[to - 1]); --to, ++moves) order_[to] = order_[to - 1];
      order_[to] = mark;
    }
    if (moves > most)
      std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return before(a, b); });
  }
  std::vector<Mark> marks_;
  std::vector<uint32_t> order_;
  size_t used_ = 0;
  Ns last_ = 0;
};

void append_row(Timeline& out, int32_t rank, int32_t step, Cover& cover, bool wait_known) {
  const auto sums = cover.sums();
  const size_t row = out.steps.append(kNoName, rank, step, kNoTime, cover.last());
  std::array<Ns, kPhases> phases{};
  for (size_t k = 0; k < k_kinds; ++k) phases[index(kPhaseOfKind[k])] += sums[k];
  for (const Phase p : {Phase::forward, Phase::backward, Phase::optimizer, Phase::gc,
                        Phase::collective, Phase::p2p})
    out.steps.set_phase(row, p, phases[index(p)]);
  out.wait.push_back(wait_known ? sums[k_collective_wait] : kNoDuration);
  out.p2p_wait.push_back(wait_known ? sums[k_p2p_wait] : kNoDuration);
}

// The ranks as recorded, or numbered when they do not tell the workers apart.
std::vector<int32_t> worker_ranks(const std::vector<int32_t>& recorded) {
  const std::set<int32_t> distinct(recorded.begin(), recorded.end());
  if (distinct.size() == recorded.size() && *distinct.begin() >= 0) return recorded;
  std::vector<int32_t> numbered(recorded.size());
  std::iota(numbered.begin(), numbered.end(), 0);
  return numbered;
}

}  // namespace

Timeline worker_timeline(const Job& job, const std::vector<double>& own) {
  Timeline out;
  const auto ranks = worker_ranks(job.rank);
  std::vector<size_t> workers(ranks.size());
  std::iota(workers.begin(), workers.end(), size_t{0});
  std::sort(workers.begin(), workers.end(),
            [&](size_t a, size_t b) { return ranks[a] < ranks[b]; });
  std::vector<std::vector<uint32_t>> ops_of(job.stages);
  for (uint32_t i = 0; i < job.ops.size(); ++i)
    ops_of[static_cast<size_t>(job.ops[i].stage)].push_back(i);
  Cover cover;
  for (const size_t worker : workers) {
    const size_t dp = worker / job.stages;
    const auto& ops = ops_of[worker % job.stages];
    size_t boundaries = 0;
    for (const uint32_t op : ops) boundaries += kind_of(job.ops[op].type) >= k_collective ? 3 : 2;
    for (size_t s = 0; s < job.steps; ++s) {
      cover.clear(boundaries);
      for (const uint32_t op : ops) {
        const size_t cell = dp * job.steps + s, at = op * job.cells() + cell;
        const Kind kind = kind_of(job.ops[op].type);
        const double end = job.end(op, cell);
        const Ns start = to_ns(job.start[at]);
        if (kind < k_collective) {
          cover.add(start, to_ns(end), kind);
        } else {
          cover.add(start, to_ns(end - own[at]), to_ns(end),
                    kind == k_p2p ? k_p2p_wait : k_collective_wait, kind);
        }
      }
      append_row(out, ranks[worker], job.step[s], cover, true);
    }
  }
  return out;
}

Timeline raw_timeline(const Evidence& evidence) {
  Timeline out;
  const OpTable& t = evidence.ops;
  std::vector<uint32_t> rows(t.size());
  std::iota(rows.begin(), rows.end(), 0U);
  int32_t stages = 1;
  for (const int32_t s : t.stage) stages = std::max(stages, s < INT32_MAX ? s + 1 : s);
  const auto rank_of = [&](uint32_t i) -> int64_t {
    if (t.rank[i] >= 0) return t.rank[i];
    return std::min<int64_t>(int64_t{t.dp_rank[i]} * stages + t.stage[i], INT32_MAX);
  };
  std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
    const int64_t x = rank_of(a), y = rank_of(b);
    if (x != y) return x < y;
    return t.step[a] != t.step[b] ? t.step[a] < t.step[b] : a < b;
  });
  std::vector<Kind> kinds(evidence.names.size(), k_kinds);
  for (size_t k = 0; k < kOpTypes; ++k)
    if (const NameId id = evidence.names.find(kOpTypeNames[k]); id != kNoName)
      kinds[id] = kind_of(static_cast<OpType>(k));
  Cover cover;
  for (size_t first = 0; first < rows.size();) {
    size_t end = first, known = 0;
    while (end < rows.size() && rank_of(rows[end]) == rank_of(rows[first]) &&
           t.step[rows[end]] == t.step[rows[first]]) {
      if (kinds[t.optype[rows[end]]] != k_kinds) ++known;
      ++end;
    }
    cover.clear(2 * known);
    for (size_t i = first; i < end; ++i) {
      const uint32_t r = rows[i];
      const Kind kind = kinds[t.optype[r]];
      if (kind == k_kinds) continue;
      const double start = t.start[r];
      cover.add(to_ns(start), to_ns(start + static_cast<double>(t.duration[r])), kind);
    }
    if (known > 0)
      append_row(out, static_cast<int32_t>(rank_of(rows[first])), t.step[rows[first]], cover,
                 false);
    first = end;
  }
  return out;
}

namespace {

struct Place {
  uint32_t op;
  size_t dp;
};

// Goes back from the last end of a replayed step. Launch delays are not in the replay: with them,
// the measured path would jump to whichever transfer happened to be launched late.
class Walk {
 public:
  Walk(const Job& job, const Graph& graph, const std::vector<double>& own,
       const Replayer::Ends& ends, size_t step)
      : job_(job), graph_(graph), own_(own), ends_(ends), step_(step) {}

  // Returns the replayed step time; fills `phases`, which sum to it, and the compute on the path
  // per worker.
  Ns run(std::array<Ns, kPhases>& phases, std::vector<Ns>& compute) const {
    Place at{0, 0};
    for (uint32_t i = 0; i < job_.ops.size(); ++i)
      for (size_t d = 0; d < job_.dps; ++d)
        if (end({i, d}) > end(at)) at = {i, d};
    const Ns time = std::max<Ns>(0, to_ns(end(at)));
    Ns cursor = time;
    for (;;) {
      const Op& op = job_.ops[at.op];
      const double begin = end(at) - own_[at.op * job_.cells() + at.dp * job_.steps + step_];
      const Ns from = std::clamp<Ns>(to_ns(begin), 0, cursor);
      phases[index(phase_of(op.type))] += cursor - from;
      if (whatif::is_compute(op.type))
        compute[at.dp * job_.stages + static_cast<size_t>(op.stage)] += cursor - from;
      cursor = from;
      const auto before = what_it_waited_for(at);
      if (!before) break;
      at = *before;
    }
    phases[index(Phase::unexplained)] += cursor;
    return time;
  }

 private:
  double end(Place p) const {
    return ends_.end[(p.op * job_.dps + p.dp) * ends_.width + (step_ - ends_.first)];
  }
  std::optional<Place> what_it_waited_for(Place at) const {
    const Group& g = graph_.groups[graph_.group_of[at.op]];
    std::optional<Place> last;
    for (uint32_t i = 0; i < g.deps; ++i)
      for (size_t d = 0; d < job_.dps; ++d) {
        if (!g.over_dp && d != at.dp) continue;
        const Place p{graph_.dep[g.first_dep + i], d};
        if (!last || end(p) > end(*last)) last = p;
      }
    if (last && g.free_member && end(*last) <= 0) return std::nullopt;
    return last;
  }
  const Job& job_;
  const Graph& graph_;
  const std::vector<double>& own_;
  const Replayer::Ends& ends_;
  size_t step_;
};

// Makes the phases of the replayed path sum to the measured time: what the replay misses is
// unexplained, what it has too much is taken from all alike.
void fit(std::array<Ns, kPhases>& phases, Ns replayed, Ns measured) {
  if (replayed > measured)
    for (Ns& p : phases) p = static_cast<Ns>(static_cast<__int128>(p) * measured / replayed);
  const Ns sum = std::accumulate(phases.begin(), phases.end(), Ns{0});
  phases[index(Phase::unexplained)] += measured - sum;
}

}  // namespace

JobSteps critical_path(const Job& job, const Graph& graph, const std::vector<double>& own) {
  JobSteps out;
  const auto ranks = worker_ranks(job.rank);
  const auto measured = measured_times(job);
  std::vector<Ns> compute(ranks.size());
  const auto step = [&](const Replayer::Ends& ends, size_t s) {
    std::array<Ns, kPhases> phases{};
    std::fill(compute.begin(), compute.end(), 0);
    const Ns time = std::max<Ns>(0, to_ns(measured[s]));
    fit(phases, Walk(job, graph, own, ends, s).run(phases, compute), time);
    out.step.push_back(job.step[s]);
    out.start.push_back(kNoTime);
    out.time.push_back(time);
    for (size_t p = 0; p < kPhases; ++p) out.ledger[p].push_back(phases[p]);
    const auto most = std::max_element(compute.begin(), compute.end());
    out.critical_rank.push_back(*most > 0 ? ranks[static_cast<size_t>(most - compute.begin())]
                                          : -1);
    out.segment.push_back(SegmentKind::steady);
    out.outlier.push_back(0);
  };
  const std::array<double, kOpTypes> unused{};
  Replayer(job, graph, own, unused)
      .run([](const Op&, size_t) { return true; },
           [&](const Replayer::Ends& ends) {
             for (size_t s = ends.first; s < ends.first + ends.width; ++s) step(ends, s);
           });
  return out;
}

}  // namespace firstwait::whatif
