#include "model/health.h"

namespace firstwait {

void Health::add(std::string_view source, const HealthCounter& counter, uint64_t count,
                 std::string_view place) {
  if (count == 0) return;
  std::vector<size_t>& known = by_source_[std::string(source)];
  for (const size_t i : known) {
    if (entries_[i].counter == &counter) {
      entries_[i].count += count;
      return;
    }
  }
  known.push_back(entries_.size());
  entries_.push_back({std::string(source), &counter, count, std::string(place)});
}

}  // namespace firstwait
