#include "attribute/grouping.h"

#include <algorithm>
#include <map>
#include <set>

#include "attribute/thresholds.h"
#include "base/stats.h"

namespace firstwait {
namespace {

using Members =
    std::map<std::string, std::map<std::string, std::set<int32_t>>>;  // dimension -> value -> ranks

std::string kind_of(const std::string& entity) { return entity.substr(0, entity.find('/')); }

// "node07:2" -> "2": the same slot of every host.
std::string slot_of(const std::string& gpu) {
  const size_t colon = gpu.rfind(':');
  return colon == std::string::npos ? std::string() : gpu.substr(colon + 1);
}

class Inventory {
 public:
  explicit Inventory(const Evidence& evidence) {
    for (const Relation& r : evidence.relations) links_[r.from].insert(r.to);
    for (const Entity& e : evidence.entities)
      for (const auto& [key, value] : e.attributes) attributes_[e.id].emplace(key, value);
  }

  // Everything reachable from the start within a few links: rank -> host -> rack, host -> nic ->
  // switch.
  void add(int32_t rank, std::set<std::string> start, Members& members) const {
    constexpr int kDeepest = 4;
    std::set<std::string> seen = start;
    for (int depth = 0; depth < kDeepest && !start.empty(); ++depth) {
      std::set<std::string> next;
      for (const std::string& entity : start) {
        const std::string kind = kind_of(entity);
        if (kind != "rank" && kind != "job") members[kind][entity].insert(rank);
        if (const auto found = attributes_.find(entity);
            found != attributes_.end() && kind != "job")
          for (const auto& [key, value] : found->second)
            members[kind + "." + key][value].insert(rank);
        if (const auto found = links_.find(entity); found != links_.end() && kind != "job")
          for (const std::string& to : found->second)
            if (seen.insert(to).second) next.insert(to);
      }
      start = std::move(next);
    }
  }

 private:
  std::map<std::string, std::set<std::string>> links_;
  std::map<std::string, std::map<std::string, std::string>> attributes_;
};

Members members_of(const Evidence& evidence, const std::vector<int32_t>& ranks) {
  const Inventory inventory(evidence);
  Members members;
  for (const int32_t rank : ranks) {
    std::set<std::string> start{"rank/" + std::to_string(rank)};
    if (const auto found = evidence.ranks.find(rank); found != evidence.ranks.end()) {
      const RankInfo& info = found->second;
      const auto add = [&](const char* dimension, int32_t value) {
        if (value >= 0)
          members[dimension][std::string(dimension) + "/" + std::to_string(value)].insert(rank);
      };
      add("stage", info.stage);
      add("dp_rank", info.dp_rank);
      add("local_rank", info.local_rank);
      if (!info.host.empty()) start.insert("host/" + info.host);
      if (!info.gpu.empty()) {
        start.insert("gpu/" + info.gpu);
        if (const std::string slot = slot_of(info.gpu); !slot.empty())
          members["gpu_slot"]["gpu_slot/" + slot].insert(rank);
      }
    }
    inventory.add(rank, std::move(start), members);
  }
  return members;
}

}  // namespace

std::vector<Grouping> group_slow_ranks(const Evidence& evidence, const std::vector<int32_t>& ranks,
                                       const std::vector<int32_t>& slow_list) {
  const std::set<int32_t> slow(slow_list.begin(), slow_list.end());
  std::vector<Grouping> found;
  if (slow.size() < 2 || slow.size() >= ranks.size()) return found;
  const Members members = members_of(evidence, ranks);
  size_t tried = 0;
  std::map<std::set<int32_t>, Grouping> by_members;
  for (const auto& [dimension, values] : members) {
    if (values.size() < 2) continue;  // all alike in it, or unknown for the rest
    for (const auto& [value, of] : values) {
      if (of.size() < 2 || of.size() == ranks.size()) continue;
      ++tried;
      int64_t hits = 0;
      for (const int32_t rank : of) hits += slow.contains(rank) ? 1 : 0;
      Grouping& g = by_members[of];
      g.dimensions.push_back(dimension);
      if (g.value.empty()) g.value = value;
      g.ranks.assign(of.begin(), of.end());
      g.p_value =
          hypergeometric_tail(static_cast<int64_t>(ranks.size()), static_cast<int64_t>(of.size()),
                              static_cast<int64_t>(slow.size()), hits);
    }
  }
  for (auto& [of, g] : by_members) {
    g.p_value = std::min(1.0, g.p_value * static_cast<double>(tried));
    if (g.p_value < kIntervalAlpha) found.push_back(std::move(g));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Grouping& a, const Grouping& b) { return a.p_value < b.p_value; });
  constexpr size_t kMost = 5;
  found.resize(std::min(found.size(), kMost));
  return found;
}

}  // namespace firstwait
