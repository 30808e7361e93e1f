#include "collect/sys_values.h"

#include <algorithm>

namespace firstwait {

void SysValues::begin() {
  before_ = std::move(entries_);
  entries_.clear();
}

void SysValues::add(std::string path, SeriesId id, int64_t times) {
  for (Entry& e : before_)
    if (e.file.path() == path && e.id == id) {
      entries_.push_back({std::move(e.file), id, times});
      return;
    }
  entries_.push_back({File(std::move(path), true), id, times});
}

void SysValues::end(Out& out) {
  for (const Entry& b : before_)
    if (std::none_of(entries_.begin(), entries_.end(),
                     [&](const Entry& e) { return e.id == b.id; }))
      out.release(b.id);
  before_.clear();
}

bool SysValues::sample(Out& out) {
  bool any = false;
  error_ = 0;
  for (Entry& e : entries_) {
    const auto text = out.read(e.file);
    if (!text) {
      error_ = e.file.error();
      continue;
    }
    int64_t value = 0;
    if (!whole_number(*text, value) || __builtin_mul_overflow(value, e.times, &value)) continue;
    out.put(e.id, value);
    any = true;
  }
  return any;
}

}  // namespace firstwait
