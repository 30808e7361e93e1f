// Rules 1 to 8 of the method. What no published trace shows (several model chunks, wrap-around
// pairs, no-ops, a recv fewer than computes, several all-gathers, separate-grads-all-reduce, no
// data parallelism) follows the description and is verified on made-up jobs only.
#include "attribute/whatif/graph.h"

#include <algorithm>
#include <map>

namespace firstwait::whatif {
namespace {

using List = std::vector<uint32_t>;
constexpr uint32_t kNone = UINT32_MAX;
constexpr double kSlack = 50e-6;  // rule 3: clocks of one worker's streams agree to this

class Builder {
 public:
  Builder(const Job& job, const Rules& rules) : job_(job), rules_(rules) {
    graph_.op_deps.resize(job.ops.size());
    compute_of_.assign(job.ops.size(), kNone);
    by_stage_.resize(job.stages);
    for (auto& lists : by_stage_) lists.resize(kOpTypes);
    for (uint32_t i = 0; i < job.ops.size(); ++i)
      by_stage_[static_cast<size_t>(job.ops[i].stage)][index(job.ops[i].type)].push_back(i);
    for (auto& lists : by_stage_)
      for (auto& list : lists) sort(list);
  }

  Result<Graph> build() {
    for (size_t stage = 0; stage < job_.stages; ++stage) {
      chain_streams(stage);
      match(stage, OpType::forward_compute, OpType::forward_recv, OpType::forward_send);
      match(stage, OpType::backward_compute, OpType::backward_recv, OpType::backward_send);
      first_backward(stage);
      if (job_.dps > 1) data_parallel_stream(stage);
      tail(stage);
    }
    make_groups();
    return order();
  }

 private:
  const Op& op(uint32_t i) const { return job_.ops[i]; }
  const List& list(size_t stage, OpType type) const { return by_stage_[stage][index(type)]; }
  void sort(List& l) const {
    std::sort(l.begin(), l.end(), [&](uint32_t a, uint32_t b) {
      const Op &x = op(a), &y = op(b);
      if (x.start != y.start) return x.start < y.start;
      if (x.seq != y.seq) return x.seq < y.seq;
      return kOpTypeNames[index(x.type)] < kOpTypeNames[index(y.type)];
    });
  }
  void depends(uint32_t later, uint32_t earlier) {
    if (later != earlier) graph_.op_deps[later].push_back(earlier);
  }
  void chain(const List& l) {
    for (size_t i = 1; i < l.size(); ++i) depends(l[i], l[i - 1]);
  }
  List merged(size_t stage, OpType a, OpType b) const {
    List l = list(stage, a);
    const List& other = list(stage, b);
    l.insert(l.end(), other.begin(), other.end());
    sort(l);
    return l;
  }

  // Rules 1 and 2.
  void chain_streams(size_t stage) {
    chain(merged(stage, OpType::forward_compute, OpType::backward_compute));
    for (const auto t :
         {OpType::forward_send, OpType::forward_recv, OpType::backward_send, OpType::backward_recv})
      chain(list(stage, t));
  }

  // Rule 3.
  void match(size_t stage, OpType compute_type, OpType recv_type, OpType send_type) {
    const List& computes = list(stage, compute_type);
    if (computes.empty()) return;
    const double last_start = op(computes.back()).start, first_end = op(computes.front()).end;
    List recvs, sends;
    for (const uint32_t r : list(stage, recv_type))
      if (!(op(r).start > last_start + kSlack)) recvs.push_back(r);
    for (const uint32_t s : list(stage, send_type))
      if (!(op(s).end < first_end - kSlack)) sends.push_back(s);
    const size_t shift = recvs.size() + 1 == computes.size() ? 1 : 0;
    for (size_t i = 0; i < recvs.size() && i + shift < computes.size(); ++i) {
      const size_t k = i + shift;
      compute_of_[recvs[i]] = computes[k];
      depends(computes[k], recvs[i]);
      if (k > 0 && rules_.recv_waits_for_previous) depends(recvs[i], computes[k - 1]);
    }
    for (size_t k = 0; k < sends.size() && k < computes.size(); ++k) {
      compute_of_[sends[k]] = computes[k];
      depends(sends[k], computes[k]);
    }
  }

  // Rule 6.
  void first_backward(size_t stage) {
    const List order = merged(stage, OpType::forward_compute, OpType::backward_compute);
    size_t first = 0;
    while (first < order.size() && op(order[first]).type != OpType::backward_compute) ++first;
    if (first == order.size() || first < 2) return;
    for (const auto t : {OpType::backward_send, OpType::backward_recv})
      if (!list(stage, t).empty()) depends(list(stage, t).front(), order[first - 2]);
  }

  // Rule 7.
  void data_parallel_stream(size_t stage) {
    chain(merged(stage, OpType::params_all_gather, OpType::grads_reduce_scatter));
    std::map<int32_t, uint32_t> gather,
        compute;  // model chunk -> its last all-gather, its first forward-compute
    for (const uint32_t g : list(stage, OpType::params_all_gather)) {
      const auto [at, inserted] = gather.emplace(std::max(op(g).chunk, 0), g);
      if (!inserted && op(g).seq > op(at->second).seq) at->second = g;
    }
    for (const uint32_t c : list(stage, OpType::forward_compute))
      compute.emplace(std::max(op(c).chunk, 0), c);
    for (const auto& [chunk, g] : gather)
      if (const auto c = compute.find(chunk); c != compute.end()) depends(c->second, g);
  }

  // Rule 8.
  void tail(size_t stage) {
    List computes = merged(stage, OpType::forward_compute, OpType::backward_compute);
    List before;  // what the next part of the tail waits for
    if (!computes.empty())
      before = {*std::max_element(computes.begin(), computes.end(),
                                  [&](uint32_t a, uint32_t b) { return op(a).end < op(b).end; })};
    const auto then = [&](const List& part) {
      if (part.empty()) return;
      for (const uint32_t b : before) depends(part.front(), b);
      chain(part);
      before = {part.back()};
    };
    List scatters = list(stage, OpType::grads_reduce_scatter);
    std::stable_sort(scatters.begin(), scatters.end(),
                     [&](uint32_t a, uint32_t b) { return op(a).seq < op(b).seq; });
    const List& separate = list(stage, OpType::separate_all_reduce);
    const bool parallel = job_.dps > 1;
    const bool overlapped = parallel && has_separate();
    then(list(stage, OpType::gc));
    if (overlapped) {
      overlap(stage, scatters);
      if (!scatters.empty()) before.push_back(scatters.back());
    }
    then(list(stage, OpType::layernorm_all_reduce));
    if (stage == 0 || stage + 1 == job_.stages) then(list(stage, OpType::embedding_all_reduce));
    if (overlapped) then(separate);
    if (parallel && !overlapped) then(scatters);
    then(list(stage, OpType::clip));
    then(list(stage, OpType::optimizer));
  }
  bool has_separate() const {
    return std::any_of(by_stage_.begin(), by_stage_.end(), [](const auto& lists) {
      return !lists[index(OpType::separate_all_reduce)].empty();
    });
  }
  // The first reduce-scatter of a model chunk follows the chunk's last backward-compute.
  void overlap(size_t stage, const List& scatters) {
    std::map<int32_t, uint32_t> first, last_compute;
    for (const uint32_t s : scatters) first.emplace(std::max(op(s).chunk, 0), s);
    for (const uint32_t c : list(stage, OpType::backward_compute))
      last_compute[std::max(op(c).chunk, 0)] = c;
    for (const auto& [chunk, s] : first)
      if (const auto c = last_compute.find(chunk); c != last_compute.end()) depends(s, c->second);
  }

  // Rule 4: the peer would be outside the model, or no compute is known to belong to it.
  bool no_op(uint32_t i) const {
    if (compute_of_[i] == kNone) return true;
    const int32_t chunk = op(compute_of_[i]).global_chunk;
    const OpType t = op(i).type;
    const bool up = t == OpType::forward_send || t == OpType::backward_recv;
    const int64_t peer = int64_t{chunk} + (up ? 1 : -1);
    return peer < 0 || peer >= static_cast<int64_t>(job_.chunks * job_.stages);
  }
  void group(List members, bool synchronises, bool over_dp) {
    const auto id = static_cast<uint32_t>(groups_.size());
    for (const uint32_t m : members) graph_.group_of[m] = id;
    groups_.push_back(std::move(members));
    flags_.push_back({synchronises, over_dp});
  }
  // Rule 5: the j-th send of a stage with the j-th recv of the stage it sends to.
  void pair(OpType send_type, OpType recv_type, size_t to_next) {
    const auto valid = [&](size_t stage, OpType type) {
      List l;
      for (const uint32_t i : list(stage, type))
        if (!no_op(i)) l.push_back(i);
      return l;
    };
    for (size_t stage = 0; stage < job_.stages; ++stage) {
      const List sends = valid(stage, send_type),
                 recvs = valid((stage + to_next) % job_.stages, recv_type);
      for (size_t j = 0; j < std::min(sends.size(), recvs.size()); ++j)
        group({sends[j], recvs[j]}, true, false);
    }
  }
  void make_groups() {
    graph_.group_of.assign(job_.ops.size(), kNone);
    if (rules_.pair_p2p) {
      pair(OpType::forward_send, OpType::forward_recv, 1);
      pair(OpType::backward_send, OpType::backward_recv, job_.stages - 1);
    }
    across(OpType::embedding_all_reduce, {0, job_.stages - 1}, false);
    List all(job_.stages);
    for (uint32_t s = 0; s < job_.stages; ++s) all[s] = s;
    across(OpType::clip, {all.begin(), all.end()}, rules_.clip_over_dp);
    for (uint32_t i = 0; i < job_.ops.size(); ++i) {
      if (graph_.group_of[i] != kNone) continue;
      const OpType t = op(i).type;
      const bool joins = t == OpType::params_all_gather || t == OpType::separate_all_reduce ||
                         (t == OpType::grads_reduce_scatter && rules_.scatter_over_dp);
      group({i}, joins, joins);
    }
  }
  // The j-th operation of each of these stages form a group.
  void across(OpType type, const std::vector<size_t>& stages, bool over_dp) {
    for (size_t j = 0;; ++j) {
      List members;
      for (const size_t s : stages)
        if (j < list(s, type).size() && graph_.group_of[list(s, type)[j]] == kNone) {
          members.push_back(list(s, type)[j]);
          graph_.group_of[members.back()] = 0;  // stages may name one stage twice
        }
      if (members.empty()) return;
      const bool synchronises = members.size() > 1 || over_dp;
      group(std::move(members), synchronises, over_dp);
    }
  }

  // Groups in an order that respects what their members wait for.
  Result<Graph> order() {
    const size_t n = groups_.size();
    std::vector<List> followers(n);
    std::vector<uint32_t> waits(n);
    for (uint32_t i = 0; i < job_.ops.size(); ++i)
      for (const uint32_t d : graph_.op_deps[i]) {
        if (graph_.group_of[d] == graph_.group_of[i])
          return Error{"operations that synchronise wait for each other", "",
                       "check the order of the records"};
        followers[graph_.group_of[d]].push_back(graph_.group_of[i]);
        ++waits[graph_.group_of[i]];
      }
    List ready;
    for (uint32_t g = 0; g < n; ++g)
      if (waits[g] == 0) ready.push_back(g);
    List place(n, kNone);
    for (size_t next = 0; next < ready.size(); ++next) {
      place[ready[next]] = static_cast<uint32_t>(next);
      for (const uint32_t f : followers[ready[next]])
        if (--waits[f] == 0) ready.push_back(f);
    }
    if (ready.size() != n)
      return Error{"the operations wait for each other in a circle", "",
                   "check the order of the records"};
    for (const uint32_t g : ready) emit(g);
    for (auto& g : graph_.group_of) g = place[g];
    return std::move(graph_);
  }
  void emit(uint32_t g) {
    Group out;
    out.first_member = static_cast<uint32_t>(graph_.member.size());
    out.members = static_cast<uint32_t>(groups_[g].size());
    out.first_dep = static_cast<uint32_t>(graph_.dep.size());
    out.synchronises = flags_[g].synchronises;
    out.over_dp = flags_[g].over_dp;
    List deps;
    for (const uint32_t m : groups_[g]) {
      graph_.member.push_back(m);
      out.free_member = out.free_member || graph_.op_deps[m].empty();
      deps.insert(deps.end(), graph_.op_deps[m].begin(), graph_.op_deps[m].end());
    }
    std::sort(deps.begin(), deps.end());
    deps.erase(std::unique(deps.begin(), deps.end()), deps.end());
    graph_.dep.insert(graph_.dep.end(), deps.begin(), deps.end());
    out.deps = static_cast<uint32_t>(deps.size());
    graph_.groups.push_back(out);
  }

  struct Flags {
    bool synchronises, over_dp;
  };
  const Job& job_;
  const Rules& rules_;
  Graph graph_;
  std::vector<std::vector<List>> by_stage_;
  List compute_of_;  // a send's or recv's compute; kNone: it belongs to none
  std::vector<List> groups_;
  std::vector<Flags> flags_;
};

}  // namespace

Result<Graph> build_graph(const Job& job, const Rules& rules) {
  return Builder(job, rules).build();
}

}  // namespace firstwait::whatif
