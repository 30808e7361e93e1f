// Interned strings: a column of names holds 4 bytes a row.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace firstwait {

using NameId = uint32_t;
inline constexpr NameId kNoName = 0;  // the empty string

class Names {
 public:
  Names() { intern(""); }
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;
  Names(Names&&) = default;
  Names& operator=(Names&&) = default;

  NameId intern(std::string_view text) {
    const auto found = ids_.find(text);
    if (found != ids_.end()) return found->second;
    const auto id = static_cast<NameId>(texts_.size());
    texts_.emplace_back(text);
    ids_.emplace(texts_.back(), id);
    return id;
  }
  // kNoName when the text was never interned.
  NameId find(std::string_view text) const {
    const auto found = ids_.find(text);
    return found == ids_.end() ? kNoName : found->second;
  }
  std::string_view operator[](NameId id) const { return texts_[id]; }
  size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // addresses are stable: ids_ keys point into it
  std::unordered_map<std::string_view, NameId> ids_;
};

}  // namespace firstwait
