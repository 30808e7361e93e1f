#include "import/chrome/json_index.h"

#include <cstring>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace firstwait {
namespace {

// One bit per byte of a 64-byte block.
struct Masks {
  uint64_t quote = 0, backslash = 0, bracket = 0, line_break = 0;
};

#ifndef __x86_64__
struct Portable {
  Masks operator()(const char* p) const {
    Masks m;
    for (int i = 0; i < 64; ++i) {
      const uint64_t bit = uint64_t{1} << i;
      const char c = p[i];
      if (c == '"') m.quote |= bit;
      if (c == '\\') m.backslash |= bit;
      if (c == '\n') m.line_break |= bit;
      if (c == '{' || c == '[' || c == '}' || c == ']') m.bracket |= bit;
    }
    return m;
  }
};
#else
// '[' and '{' differ from each other in bit 5 only, and so do ']' and '}'.
constexpr char kFold = 0x20;

struct Sse2 {
  Masks operator()(const char* p) const {
    Masks m;
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'),
                  line = _mm_set1_epi8('\n'), fold = _mm_set1_epi8(kFold),
                  open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
    const auto bits = [](__m128i equal, int i) {
      return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(equal))) << (16 * i);
    };
    for (int i = 0; i < 4; ++i) {
      const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p) + i);
      const __m128i folded = _mm_or_si128(c, fold);
      m.quote |= bits(_mm_cmpeq_epi8(c, quote), i);
      m.backslash |= bits(_mm_cmpeq_epi8(c, backslash), i);
      m.line_break |= bits(_mm_cmpeq_epi8(c, line), i);
      m.bracket |=
          bits(_mm_or_si128(_mm_cmpeq_epi8(folded, open), _mm_cmpeq_epi8(folded, close)), i);
    }
    return m;
  }
};

struct Avx2 {
  __attribute__((target("avx2"))) Masks operator()(const char* p) const {
    Masks m;
    const __m256i quote = _mm256_set1_epi8('"'), backslash = _mm256_set1_epi8('\\'),
                  line = _mm256_set1_epi8('\n'), fold = _mm256_set1_epi8(kFold),
                  open = _mm256_set1_epi8('{'), close = _mm256_set1_epi8('}');
    for (int i = 0; i < 2; ++i) {
      const __m256i c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p) + i);
      const __m256i folded = _mm256_or_si256(c, fold);
      const __m256i bracket =
          _mm256_or_si256(_mm256_cmpeq_epi8(folded, open), _mm256_cmpeq_epi8(folded, close));
      const int shift = 32 * i;
      m.quote |= bits(_mm256_cmpeq_epi8(c, quote)) << shift;
      m.backslash |= bits(_mm256_cmpeq_epi8(c, backslash)) << shift;
      m.line_break |= bits(_mm256_cmpeq_epi8(c, line)) << shift;
      m.bracket |= bits(bracket) << shift;
    }
    return m;
  }

 private:
  __attribute__((target("avx2"))) static uint64_t bits(__m256i equal) {
    return static_cast<uint32_t>(_mm256_movemask_epi8(equal));
  }
};
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

struct Blocks {
  std::string_view text;
  uint64_t *quotes, *brackets;
};

// The first line break inside a string, or kNone. Always inlined: into code for the instructions
// that `MasksOf` needs.
template <typename MasksOf>
[[gnu::always_inline]] inline size_t index_blocks(const Blocks& out, MasksOf masks_of) {
  const std::string_view text = out.text;
  size_t damage = JsonIndex::kNone;
  // in_string: all ones when the block begins inside a string
  uint64_t in_string = 0, escape_carry = 0;
  char last[64];
  for (size_t word = 0; 64 * word < text.size(); ++word) {
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
    out.quotes[word] = quote;
    out.brackets[word] = m.bracket & ~strings;
    const uint64_t broken = m.line_break & strings;
    if (broken != 0 && damage == JsonIndex::kNone)
      damage = 64 * word + static_cast<size_t>(std::countr_zero(broken));
  }
  return damage;
}

#ifdef __x86_64__
__attribute__((target("avx2"))) size_t index_avx2(const Blocks& out) {
  return index_blocks(out, Avx2());
}
size_t index_text(const Blocks& out) {
  return __builtin_cpu_supports("avx2") ? index_avx2(out) : index_blocks(out, Sse2());
}
#else
size_t index_text(const Blocks& out) { return index_blocks(out, Portable()); }
#endif

}  // namespace

void JsonIndex::build(std::string_view text) {
  text_ = text;
  const size_t words = (text.size() + 63) / 64;
  quotes_.resize(words);
  brackets_.resize(words);
  damage_ = index_text({text, quotes_.data(), brackets_.data()});
}

// Bracket by bracket: few of 64 bytes are brackets, and counting bits is a call where the processor
// is not known to have an instruction for it.
JsonIndex::End JsonIndex::skip_container(size_t at) const {
  if (at >= text_.size()) return {};
  int depth = 0;
  uint64_t from = ~uint64_t{0} << (at % 64);
  for (size_t word = at / 64; word < brackets_.size(); ++word, from = ~uint64_t{0}) {
    for (uint64_t left = brackets_[word] & from; left != 0; left &= left - 1) {
      const size_t bracket = word * 64 + static_cast<size_t>(std::countr_zero(left));
      if ((text_[bracket] & 2) != 0) {  // set in '{' and '[' alone
        if (++depth > kMaxDepth) return {bracket, true};
      } else if (--depth <= 0) {
        return {bracket + 1, false};
      }
    }
  }
  return {};
}

}  // namespace firstwait
