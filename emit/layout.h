// The ring file: header, records, strings (FORMAT.md). Shared by the writer and the reader, who
// does not trust the writer.
#pragma once
#include <cstddef>
#include <cstdint>

namespace firstwait::ring {

inline constexpr char kMagic[8] = {'F', 'W', 'R', 'I', 'N', 'G', '0', '1'};
inline constexpr uint32_t kHeaderBytes = 4096;
inline constexpr uint32_t kRecordBytes = 64;
inline constexpr uint32_t kLeastRecords = 64, kMostRecords = 1U << 22;
inline constexpr uint64_t kStringsBytes = 256 << 10;
inline constexpr size_t kMaxName = 255, kMaxSetting = 4096;

struct Header {
  char magic[8];
  uint32_t header_bytes, record_bytes, capacity, reserved;
  uint64_t strings_offset, strings_bytes;
  int32_t pid, parent;
  int64_t anchor_monotonic, anchor_realtime;
  int32_t rank, world_size, local_rank, role;
  char host[64];
  // Written all the time: a cache line each.
  alignas(64) uint64_t head;  // records ever begun
  alignas(64) uint64_t strings_used;
  uint64_t strings_lost;
};
static_assert(sizeof(Header) <= kHeaderBytes && offsetof(Header, head) == 192);

enum Kind : uint8_t { kSpan = 1, kBegin = 2, kCounter = 3, kStep = 4 };

// Eight words; the last is a check over the others, so that a reader knows a record that is half
// written, or half overwritten by the next lap.
struct Record {
  uint64_t sequence;  // index + 1
  int64_t start, end;
  uint32_t name;  // offset of the string, in units of 8 bytes
  uint8_t kind, phase, lane, reserved;
  uint32_t thread, group;
  int64_t seq;
  int64_t value;  // bytes; of a step its samples; of a counter the bits of a double
  uint64_t check;
};
static_assert(sizeof(Record) == kRecordBytes);
inline constexpr size_t kWords = kRecordBytes / 8;

constexpr uint64_t check_of(const uint64_t* words) {
  // Odd constants from the digits of pi; the products do not wait for each other.
  constexpr uint64_t kFactors[kWords - 1] = {
      0x243f6a8885a308d3, 0x13198a2e03707345, 0xa4093822299f31d1, 0x082efa98ec4e6c89,
      0x452821e638d01377, 0xbe5466cf34e90c6d, 0xc0ac29b7c97c50dd};
  uint64_t sum = 0x3f84d5b5b5470917;
#pragma GCC unroll 8
  for (size_t i = 0; i + 1 < kWords; ++i) sum += (words[i] ^ (words[i] >> 32)) * kFactors[i];
  return sum;
}

enum StringKind : uint16_t { kNameString = 0, kSettingString = 1, kInherited = 2 };

// In front of each string, at a multiple of 8 bytes. A setting is "key\0value".
struct StringHead {
  uint32_t bytes;
  uint16_t kind, reserved;
  int64_t time;  // monotonic
};
static_assert(sizeof(StringHead) == 16);

}  // namespace firstwait::ring
