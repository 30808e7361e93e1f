// The last hour of all series at full resolution, in a bounded number of small blocks. Values are
// integers; a block holds its first value and then only what changes: an idle counter costs next to
// nothing, a busy one two or three bytes a sample.
#pragma once
#include <cstdint>
#include <vector>

#include "model/phase.h"

namespace firstwait {

// Where one series' samples are. Owned by whoever owns the series.
struct RingSeries {
  uint32_t oldest = UINT32_MAX, newest = UINT32_MAX;  // blocks
  uint32_t last_tick = 0, run = 0;  // run: how many unchanged samples are not yet written down
  int64_t last_value = 0;
  uint32_t source = 0;   // whose ticks these are
  uint32_t keep = 3600;  // ticks after which a sample may be forgotten
};

class SampleRing {
 public:
  // At most `max_bytes` of blocks; memory is taken as it is needed.
  explicit SampleRing(size_t max_bytes);

  // The source is now at this tick; its older samples age although a series may have ended.
  void advance(uint32_t source, uint32_t tick) {
    if (now_.size() <= source) now_.resize(source + 1);
    now_[source] = tick;
  }
  // `tick` counts the samples of the series' source and only grows; `index` names the series among
  // all.
  void append(std::vector<RingSeries>& all, uint32_t index, uint32_t tick, int64_t value);
  // In order; `f(tick, value)`.
  template <typename F>
  void visit(const RingSeries& series, F f) const {
    for (uint32_t b = series.oldest; b != kNone; b = blocks_[b].next) {
      const Block& block = blocks_[b];
      decode(block, f);
      if (b == series.newest)
        for (uint32_t i = 0; i < series.run; ++i)
          f(series.last_tick - series.run + 1 + i, series.last_value);
    }
  }
  // Samples younger than their series' `keep` that had to make room for newer ones.
  uint64_t evicted_early() const { return evicted_early_; }
  size_t bytes() const { return blocks_.size() * sizeof(Block); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kBlock = 128, kPayload = kBlock - 40;
  struct Block {
    int64_t first_value;
    uint32_t first_tick, last_tick;
    uint32_t owner;         // index of the series
    uint32_t next;          // of the same series
    uint32_t newer, older;  // in order of allocation, over all series
    uint16_t used;
    uint16_t samples;
    uint8_t bytes[kPayload];
  };
  static_assert(sizeof(Block) == kBlock);

  uint32_t take(std::vector<RingSeries>& all);
  void unlink_oldest(std::vector<RingSeries>& all);
  bool write_run(Block& block, RingSeries& s);
  static bool put(Block& block, uint64_t token);
  static uint64_t get(const Block& block, size_t& at);

  template <typename F>
  static void decode(const Block& block, F& f) {
    uint32_t tick = block.first_tick;
    int64_t value = block.first_value;
    f(tick, value);
    for (size_t at = 0; at < block.used;) {
      const uint64_t token = get(block, at);
      switch (token & 3) {
        case kRun:
          for (uint64_t i = token >> 2; i > 0; --i) f(++tick, value);
          break;
        case kGap:
          tick += static_cast<uint32_t>(token >> 2);
          break;
        default: {
          uint64_t zigzag = token >> 2;
          if ((token & 3) == kWide) zigzag = get(block, at);
          value = static_cast<int64_t>(static_cast<uint64_t>(value) +
                                       ((zigzag >> 1) ^ (~(zigzag & 1) + 1)));
          f(++tick, value);
        }
      }
    }
  }
  enum : uint64_t { kRun = 0, kChange = 1, kGap = 2, kWide = 3 };

  std::vector<Block> blocks_;
  std::vector<uint32_t> now_;  // by source
  size_t max_blocks_;
  uint32_t first_ = kNone, last_ = kNone;  // in order of allocation
  uint64_t evicted_early_ = 0;
};

}  // namespace firstwait
