#include "collect/ring.h"

#include <algorithm>

namespace firstwait {

SampleRing::SampleRing(size_t max_bytes)
    : max_blocks_(std::clamp<size_t>(max_bytes / kBlock, 16, kNone - 1)) {}

bool SampleRing::put(Block& block, uint64_t token) {
  uint8_t encoded[10];
  size_t n = 0;
  do {
    encoded[n++] = static_cast<uint8_t>((token & 0x7f) | (token > 0x7f ? 0x80 : 0));
    token >>= 7;
  } while (token > 0);
  if (block.used + n > kPayload) return false;
  std::copy(encoded, encoded + n, block.bytes + block.used);
  block.used = static_cast<uint16_t>(block.used + n);
  return true;
}

uint64_t SampleRing::get(const Block& block, size_t& at) {
  uint64_t token = 0;
  for (int shift = 0; at < block.used && shift < 64; shift += 7) {
    const uint8_t byte = block.bytes[at++];
    token |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return token;
}

bool SampleRing::write_run(Block& block, RingSeries& s) {
  if (s.run == 0) return true;
  if (!put(block, uint64_t{s.run} << 2 | kRun)) return false;
  s.run = 0;
  return true;
}

// The oldest block of all is always the oldest of its series.
void SampleRing::unlink_oldest(std::vector<RingSeries>& all) {
  Block& block = blocks_[first_];
  RingSeries& owner = all[block.owner];
  if (owner.newest == first_) {
    owner.newest = kNone;
    owner.run = 0;
  }
  owner.oldest = owner.newest == kNone ? kNone : block.next;
  first_ = block.newer;
  if (first_ == kNone)
    last_ = kNone;
  else
    blocks_[first_].older = kNone;
}

uint32_t SampleRing::take(std::vector<RingSeries>& all) {
  uint32_t at = kNone;
  if (first_ != kNone) {
    const Block& oldest = blocks_[first_];
    const RingSeries& owner = all[oldest.owner];
    const uint32_t now = owner.source < now_.size() ? now_[owner.source] : 0;
    const bool expired = now > oldest.last_tick && now - oldest.last_tick >= owner.keep;
    if (expired || blocks_.size() >= max_blocks_) {
      if (!expired) evicted_early_ += oldest.samples + (owner.newest == first_ ? owner.run : 0u);
      at = first_;
      unlink_oldest(all);
    }
  }
  if (at == kNone) {
    // Grown in steps of an eighth: doubling would take twice the memory for a moment.
    if (blocks_.size() == blocks_.capacity())
      blocks_.reserve(
          std::min(max_blocks_, blocks_.size() + std::max<size_t>(256, blocks_.size() / 8)));
    at = static_cast<uint32_t>(blocks_.size());
    blocks_.emplace_back();
  }
  Block& block = blocks_[at];
  block.newer = kNone;
  block.older = last_;
  if (last_ != kNone) blocks_[last_].newer = at;
  last_ = at;
  if (first_ == kNone) first_ = at;
  return at;
}

void SampleRing::append(std::vector<RingSeries>& all, uint32_t index, uint32_t tick,
                        int64_t value) {
  RingSeries& s = all[index];
  if (s.newest != kNone) {
    Block& block = blocks_[s.newest];
    const bool adjacent = tick == s.last_tick + 1;
    // A block that spans more than a quarter of what is kept is closed, so that it can expire.
    const bool room = tick - block.first_tick <= s.keep / 4 && block.samples < UINT16_MAX;
    if (room && adjacent && value == s.last_value) {
      ++s.run;
      ++block.samples;
      s.last_tick = block.last_tick = tick;
      return;
    }
    const uint64_t delta = static_cast<uint64_t>(value) - static_cast<uint64_t>(s.last_value);
    const uint64_t zigzag = delta << 1 ^ (~(delta >> 63) + 1);
    const uint16_t used = block.used;
    const uint32_t run = s.run;
    bool written = room && write_run(block, s) &&
                   (adjacent || put(block, uint64_t{tick - s.last_tick - 1} << 2 | kGap));
    if (written)
      written = zigzag < uint64_t{1} << 62 ? put(block, zigzag << 2 | kChange)
                                           : put(block, kWide) && put(block, zigzag);
    if (written) {
      ++block.samples;
      s.last_tick = block.last_tick = tick;
      s.last_value = value;
      return;
    }
    block.used = used;
    s.run = run;
    if (!write_run(block, s)) {
      // The run no longer fits: it becomes a block of its own.
      const uint32_t from = s.last_tick - s.run + 1, count = s.run;
      const int64_t same = s.last_value;
      block.last_tick = from - 1;
      block.samples = static_cast<uint16_t>(block.samples - count);
      s.run = 0;
      const uint32_t old = s.newest, next = take(all);
      Block& fresh = blocks_[next];
      fresh.first_value = same;
      fresh.first_tick = from;
      fresh.last_tick = s.last_tick;
      fresh.owner = index;
      fresh.next = kNone;
      fresh.used = 0;
      fresh.samples = static_cast<uint16_t>(count);
      if (s.newest == old)
        blocks_[old].next = next;
      else
        s.oldest = next;
      s.newest = next;
      if (count > 1) put(fresh, uint64_t{count - 1} << 2 | kRun);
      return append(all, index, tick, value);
    }
  }
  const uint32_t old = s.newest;
  s.last_tick = std::max(s.last_tick, tick);
  const uint32_t next = take(all);
  Block& block = blocks_[next];
  block.first_value = value;
  block.first_tick = block.last_tick = tick;
  block.owner = index;
  block.next = kNone;
  block.used = 0;
  block.samples = 1;
  // take() may have evicted the block before.
  if (old != kNone && s.newest == old)
    blocks_[old].next = next;
  else
    s.oldest = next;
  s.newest = next;
  s.run = 0;
  s.last_tick = tick;
  s.last_value = value;
}

}  // namespace firstwait
