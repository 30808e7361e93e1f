// Where strings and brackets of a piece of JSON lie: one bit per byte, found 64 bytes at a time.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace firstwait {

// The piece must begin outside a string. Positions are bytes from its start.
class JsonIndex {
 public:
  static constexpr size_t kNone = SIZE_MAX;
  static constexpr int kMaxDepth = 128;

  // Keeps a reference to `text`.
  void build(std::string_view text);
  std::string_view text() const { return text_; }
  size_t size() const { return text_.size(); }

  // The next unescaped quotation mark at or after `at`; kNone: not in this piece.
  size_t next_quote(size_t at) const {
    if (at >= text_.size()) return kNone;
    size_t word = at / 64;
    uint64_t bits = quotes_[word] & (~uint64_t{0} << (at % 64));
    while (bits == 0) {
      if (++word == quotes_.size()) return kNone;
      bits = quotes_[word];
    }
    return word * 64 + static_cast<size_t>(std::countr_zero(bits));
  }

  // What ends a container: `at` lies behind its closing bracket, or on the bracket that nests
  // beyond kMaxDepth. kNone: not in this piece.
  struct End {
    size_t at = kNone;
    bool too_deep = false;
  };
  // `at` is an opening bracket outside a string. The kinds of bracket are not compared.
  End skip_container(size_t at) const;

  // The first line break inside a string, which JSON forbids: what follows it cannot be trusted.
  // kNone: none.
  size_t damage() const { return damage_; }

 private:
  std::string_view text_;
  std::vector<uint64_t> quotes_, brackets_;  // brackets: outside strings only
  size_t damage_ = kNone;
};

}  // namespace firstwait
