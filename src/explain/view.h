// What a hypothesis looks at: the evidence, what attribution made of it, and indexes that keep a
// question as cheap as its answer, however many hosts and GPUs were watched.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/attribution.h"
#include "model/evidence.h"

namespace firstwait {

// Both parts must outlive the view and stay unchanged.
class View {
 public:
  View(const Evidence& read, const Attribution& made_of_it);

  const Evidence& evidence;
  const Attribution& attribution;

  // Series of a metric, settings of a key, in the order in which they were read.
  std::span<const Series* const> series(std::string_view metric) const;
  std::span<const Setting* const> settings(std::string_view key) const;
  std::vector<const Setting*> settings_with_prefix(std::string_view prefix) const;
  // Ranks that run on a host ("node07"), ascending.
  std::span<const int32_t> ranks_on(std::string_view host) const;
  // The rank that drives a GPU ("node07:2", or the id that its rank gives), or -1.
  int32_t rank_of_gpu(std::string_view gpu) const;

 private:
  template <typename Value>
  using ByName = std::map<std::string, Value, std::less<>>;
  std::map<NameId, std::vector<const Series*>> series_;
  ByName<std::vector<const Setting*>> settings_;
  ByName<std::vector<int32_t>> ranks_on_;
  ByName<int32_t> rank_of_gpu_;
};

}  // namespace firstwait
