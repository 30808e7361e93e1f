#include "explain/view.h"

namespace firstwait {
namespace {

template <typename Map, typename Key>
std::span<const typename Map::mapped_type::value_type> found(const Map& map, const Key& name) {
  const auto it = map.find(name);
  if (it == map.end()) return {};
  return it->second;
}

}  // namespace

View::View(const Evidence& read, const Attribution& made_of_it)
    : evidence(read), attribution(made_of_it) {
  for (const auto& s : read.series) series_[s.metric].push_back(&s);
  for (const auto& s : read.settings) settings_[s.key].push_back(&s);
  for (const auto& [rank, info] : read.ranks) {
    if (!info.host.empty()) ranks_on_[info.host].push_back(rank);
    if (!info.gpu.empty())
      rank_of_gpu_.try_emplace(info.gpu, rank);
    else if (!info.host.empty() && info.local_rank >= 0)
      rank_of_gpu_.try_emplace(info.host + ":" + std::to_string(info.local_rank), rank);
  }
}

std::span<const Series* const> View::series(std::string_view metric) const {
  return found(series_, evidence.names.find(metric));
}

std::span<const Setting* const> View::settings(std::string_view key) const {
  return found(settings_, key);
}

std::vector<const Setting*> View::settings_with_prefix(std::string_view prefix) const {
  std::vector<const Setting*> out;
  for (auto it = settings_.lower_bound(prefix);
       it != settings_.end() && it->first.starts_with(prefix); ++it)
    out.insert(out.end(), it->second.begin(), it->second.end());
  return out;
}

std::span<const int32_t> View::ranks_on(std::string_view host) const {
  return found(ranks_on_, host);
}

int32_t View::rank_of_gpu(std::string_view gpu) const {
  const auto it = rank_of_gpu_.find(gpu);
  return it == rank_of_gpu_.end() ? -1 : it->second;
}

}  // namespace firstwait
