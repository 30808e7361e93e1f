#include "import/chrome/json_index.h"

#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace firstwait {
namespace {

// One bit per byte of a 64-byte block.
struct Masks {
  uint64_t quote = 0, backslash = 0, open = 0, close = 0, line_break = 0;
};

#ifdef __SSE2__
Masks masks_of(const char* p) {
  Masks m;
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'),
                line = _mm_set1_epi8('\n');
  // '[' and '{' differ from each other in bit 5 only, and so do ']' and '}'.
  const __m128i fold = _mm_set1_epi8(0x20), open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
  const auto bits = [](__m128i equal, int i) {
    return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(equal))) << (16 * i);
  };
  for (int i = 0; i < 4; ++i) {
    const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p) + i);
    const __m128i folded = _mm_or_si128(c, fold);
    m.quote |= bits(_mm_cmpeq_epi8(c, quote), i);
    m.backslash |= bits(_mm_cmpeq_epi8(c, backslash), i);
    m.line_break |= bits(_mm_cmpeq_epi8(c, line), i);
    m.open |= bits(_mm_cmpeq_epi8(folded, open), i);
    m.close |= bits(_mm_cmpeq_epi8(folded, close), i);
  }
  return m;
}
#else
Masks masks_of(const char* p) {
  Masks m;
  for (int i = 0; i < 64; ++i) {
    const uint64_t bit = uint64_t{1} << i;
    const char c = p[i];
    if (c == '"') m.quote |= bit;
    if (c == '\\') m.backslash |= bit;
    if (c == '\n') m.line_break |= bit;
    if (c == '{' || c == '[') m.open |= bit;
    if (c == '}' || c == ']') m.close |= bit;
  }
  return m;
}
#endif

// Bit i is the parity of the bits up to and including i.
uint64_t prefix_xor(uint64_t x) {
  for (int shift = 1; shift < 64; shift *= 2) x ^= x << shift;
  return x;
}

// The bytes that a backslash escapes. `carry`: the first byte is escaped; updated for the next
// block.
uint64_t escaped_bytes(uint64_t backslash, uint64_t& carry) {
  uint64_t escaped = carry;
  backslash &= ~carry;
  carry = 0;
  while (backslash != 0) {
    const int i = std::countr_zero(backslash);
    if (i == 63) {
      carry = 1;
      break;
    }
    escaped |= uint64_t{1} << (i + 1);
    backslash &= ~(uint64_t{3} << i);
  }
  return escaped;
}

}  // namespace

void JsonIndex::build(std::string_view text) {
  text_ = text;
  damage_ = kNone;
  const size_t words = (text.size() + 63) / 64;
  quotes_.resize(words);
  opens_.resize(words);
  closes_.resize(words);
  uint64_t in_string = 0,
           escape_carry = 0;  // in_string: all ones when the block begins inside a string
  char last[64];
  for (size_t word = 0; word < words; ++word) {
    const char* block = text.data() + 64 * word;
    if (64 * (word + 1) > text.size()) {
      std::memset(last, ' ', sizeof last);
      std::memcpy(last, block, text.size() - 64 * word);
      block = last;
    }
    const Masks m = masks_of(block);
    uint64_t quote = m.quote;
    if ((m.backslash | escape_carry) != 0) quote &= ~escaped_bytes(m.backslash, escape_carry);
    const uint64_t strings = prefix_xor(quote) ^ in_string;
    in_string = static_cast<uint64_t>(static_cast<int64_t>(strings) >> 63);
    quotes_[word] = quote;
    opens_[word] = m.open & ~strings;
    closes_[word] = m.close & ~strings;
    const uint64_t broken = m.line_break & strings;
    if (broken != 0 && damage_ == kNone)
      damage_ = 64 * word + static_cast<size_t>(std::countr_zero(broken));
  }
}

// Bracket by bracket: few of 64 bytes are brackets, and counting bits is a call where the processor
// is not known to have an instruction for it.
JsonIndex::End JsonIndex::skip_container(size_t at) const {
  if (at >= text_.size()) return {};
  int depth = 0;
  uint64_t from = ~uint64_t{0} << (at % 64);
  for (size_t word = at / 64; word < opens_.size(); ++word, from = ~uint64_t{0}) {
    const uint64_t open = opens_[word];
    for (uint64_t left = (open | closes_[word]) & from; left != 0; left &= left - 1) {
      const int i = std::countr_zero(left);
      const size_t bracket = word * 64 + static_cast<size_t>(i);
      if ((open >> i & 1U) != 0) {
        if (++depth > kMaxDepth) return {bracket, true};
      } else if (--depth <= 0) {
        return {bracket + 1, false};
      }
    }
  }
  return {};
}

}  // namespace firstwait
