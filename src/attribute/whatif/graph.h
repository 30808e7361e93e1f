// The dependency graph of a pipeline-parallel step (arXiv 2505.05713), the same for every step and
// dp rank.
#pragma once
#include <cstdint>
#include <vector>

#include "attribute/whatif/job.h"

namespace firstwait::whatif {

// Readings of the method that change its results. The defaults are the method; tests switch one to
// see that the published values are then missed.
struct Rules {
  bool recv_waits_for_previous = true;  // a recv waits for the previous compute of its kind
  bool pair_p2p = true;                 // sends and recvs synchronise
  bool scatter_over_dp = true;          // reduce-scatter synchronises over dp ranks
  bool clip_over_dp = true;             // gradient clipping synchronises over dp ranks
  bool raw_grouped = false;             // grouped operations keep their raw durations
  bool median_compute = false;          // ideal compute is the median
  bool mean_layernorm = false;          // ideal layernorm all-reduce is the mean
};

// Operations that synchronise: they begin together when the last is ready. A group of one is an
// operation by itself.
struct Group {
  uint32_t first_member = 0, members = 0;  // in Graph::member
  uint32_t first_dep = 0, deps = 0;        // in Graph::dep: what any member waits for
  bool over_dp = false;                    // also over all dp ranks
  bool free_member = false;                // a member waits for nothing: it is ready at 0
  bool synchronises = false;  // durations are transfer: the wait for the last member is taken out
};

struct Graph {
  std::vector<Group> groups;  // in an order in which every group follows what it waits for
  std::vector<uint32_t> member, dep;
  std::vector<uint32_t> group_of;              // op -> group
  std::vector<std::vector<uint32_t>> op_deps;  // op -> what it waits for by itself
};

// Error when the operations wait for each other in a circle.
Result<Graph> build_graph(const Job& job, const Rules& rules = {});

}  // namespace firstwait::whatif
