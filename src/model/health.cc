#include "model/health.h"

namespace firstwait {

void Health::add(std::string_view source, const HealthCounter& counter, uint64_t count,
                 std::string_view place) {
  if (count == 0) return;
  for (auto& entry : entries_) {
    if (entry.counter == &counter && entry.source == source) {
      entry.count += count;
      return;
    }
  }
  entries_.push_back({std::string(source), &counter, count, std::string(place)});
}

}  // namespace firstwait
