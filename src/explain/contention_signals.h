// Neighbours: other workloads on the same host or storage, when they came and what they take.
#pragma once
#include <string>
#include <vector>

#include "explain/weigh.h"

namespace firstwait {

struct Neighbour {
  const Event* event = nullptr;
  std::string name, kind, owner;  // "job/42", "backup", "owner/team-b"; may be empty
};
// neighbour_start events at the onset whose attribute `resource`, where given, is this one, or
// whose workload_kind fits nothing else. Without the attribute an event counts for every resource.
std::vector<Neighbour> neighbours_at_onset(const View& view, std::string_view resource);
// Any event of neighbours, also away from the onset: whether neighbours are watched at all.
bool neighbours_watched(const View& view);
// Hints for a neighbour that starts at the onset; contradicts when neighbours are watched and none
// started then. Returns its name for the sentence, or nothing.
std::string weigh_neighbours(Weighing& w, const View& view, std::string_view resource);
// Whether the job's samples per step and tokens stay as before (unknown counts as unchanged).
bool own_demand_unchanged(const View& view);

}  // namespace firstwait
