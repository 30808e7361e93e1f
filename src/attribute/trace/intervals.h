// Sorted disjoint intervals of time, and a cursor that walks along one.
#pragma once
#include <algorithm>
#include <vector>

#include "model/phase.h"

namespace firstwait {

struct TimeInterval {
  Ns start = 0, end = 0;
  bool operator==(const TimeInterval&) const = default;
};
using Intervals = std::vector<TimeInterval>;

// Sorts and joins what overlaps or touches; empty intervals vanish.
inline void make_union(Intervals& list) {
  const auto by_start = [](const TimeInterval& a, const TimeInterval& b) {
    return a.start < b.start;
  };
  if (!std::is_sorted(list.begin(), list.end(), by_start))
    std::sort(list.begin(), list.end(), by_start);
  size_t out = 0;
  for (const TimeInterval& i : list) {
    if (i.end <= i.start) continue;
    if (out > 0 && i.start <= list[out - 1].end) {
      list[out - 1].end = std::max(list[out - 1].end, i.end);
    } else {
      list[out++] = i;
    }
  }
  list.resize(out);
}

// Walks forward in time over a union.
class IntervalCursor {
 public:
  explicit IntervalCursor(const Intervals& list) : list_(list) {}
  // Whether `t` lies in an interval. `t` must not fall from call to call.
  bool active(Ns t) {
    while (at_ < list_.size() && list_[at_].end <= t) ++at_;
    return at_ < list_.size() && list_[at_].start <= t;
  }
  // The next time after `t` at which active() changes, after active(t).
  Ns next_change(Ns t) const {
    if (at_ >= list_.size()) return INT64_MAX;
    return list_[at_].start > t ? list_[at_].start : list_[at_].end;
  }

 private:
  const Intervals& list_;
  size_t at_ = 0;
};

}  // namespace firstwait
