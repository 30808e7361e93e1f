#include "collect/ring.h"

#include <gtest/gtest.h>

#include <map>

#include "base/stats.h"

namespace firstwait {
namespace {

using Samples = std::vector<std::pair<uint32_t, int64_t>>;

Samples read(const SampleRing& ring, const RingSeries& s) {
  Samples out;
  ring.visit(s, [&](uint32_t tick, int64_t value) { out.emplace_back(tick, value); });
  return out;
}

TEST(SampleRing, WhatWasWrittenIsReadInOrderWithGapsRunsAndExtremes) {
  SampleRing ring(1 << 20);
  std::vector<RingSeries> all(1);
  Samples want;
  Random random(7);
  const int64_t extremes[] = {INT64_MIN, INT64_MAX, 0, -1, 1, INT64_MAX, INT64_MIN};
  uint32_t tick = 0;
  int64_t value = 0;
  for (int i = 0; i < 3000; ++i) {
    tick += random.below(10) == 0 ? 1 + static_cast<uint32_t>(random.below(5)) : 1;
    const size_t kind = random.below(20);
    if (kind == 0) value = extremes[random.below(std::size(extremes))];
    if (kind > 10)
      value = static_cast<int64_t>(static_cast<uint64_t>(value) + random.below(100'000));
    ring.advance(0, tick);
    ring.append(all, 0, tick, value);
    want.emplace_back(tick, value);
  }
  EXPECT_EQ(read(ring, all[0]), want);
  EXPECT_EQ(ring.evicted_early(), 0u);
}

TEST(SampleRing, TheLastHourOfFiveHundredBusySeriesFitsInSixMebibytes) {
  SampleRing ring(8 << 20);
  std::vector<RingSeries> all(500);
  Random random(3);
  std::vector<int64_t> values(500);
  for (uint32_t tick = 1; tick <= 3 * 3600; ++tick) {
    ring.advance(0, tick);
    for (uint32_t i = 0; i < 500; ++i) {
      // A third idle, a third slow counters, a third byte counters that jump.
      if (i % 3 == 1) values[i] += static_cast<int64_t>(random.below(100));
      if (i % 3 == 2) values[i] += static_cast<int64_t>(random.below(1'000'000));
      ring.append(all, i, tick, values[i]);
    }
  }
  EXPECT_EQ(ring.evicted_early(), 0u);
  EXPECT_LE(ring.bytes(), size_t{6} << 20);
  for (uint32_t i = 0; i < 500; ++i) {
    const Samples got = read(ring, all[i]);
    ASSERT_GE(got.size(), 3600u);
    EXPECT_LE(got.size(), 3600u * 3 / 2) << "samples are kept far longer than asked";
    EXPECT_EQ(got.back(), (std::pair<uint32_t, int64_t>(3 * 3600, values[i])));
    for (size_t k = 1; k < got.size(); ++k) ASSERT_EQ(got[k].first, got[k - 1].first + 1);
  }
}

TEST(SampleRing, WhenMemoryIsShortTheOldestSamplesGoAndAreCounted) {
  SampleRing ring(64 * 128);
  std::vector<RingSeries> all(4);
  std::map<uint32_t, Samples> want;
  Random random(5);
  for (uint32_t tick = 1; tick <= 5000; ++tick) {
    ring.advance(0, tick);
    for (uint32_t i = 0; i < 4; ++i) {
      const auto value = static_cast<int64_t>(random.next() >> (i * 16));
      ring.append(all, i, tick, value);
      want[i].emplace_back(tick, value);
    }
  }
  EXPECT_LE(ring.bytes(), 64u * 128);
  uint64_t kept = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const Samples got = read(ring, all[i]);
    ASSERT_FALSE(got.empty());
    kept += got.size();
    const Samples tail(want[i].end() - static_cast<ptrdiff_t>(got.size()), want[i].end());
    EXPECT_EQ(got, tail);
  }
  EXPECT_EQ(kept + ring.evicted_early(), 4u * 5000);
}

TEST(SampleRing, ASeriesThatEndedMakesRoomAfterItsHour) {
  SampleRing ring(64 * 128);
  std::vector<RingSeries> all(2);
  all[0].keep = all[1].keep = 100;
  for (uint32_t tick = 1; tick <= 50; ++tick) {
    ring.advance(0, tick);
    ring.append(all, 0, tick, tick * 1'000'000'007LL);
  }
  for (uint32_t tick = 51; tick <= 3000; ++tick) {
    ring.advance(0, tick);
    ring.append(all, 1, tick, tick);
  }
  EXPECT_EQ(ring.evicted_early(), 0u);
  EXPECT_TRUE(read(ring, all[0]).empty());
}

}  // namespace
}  // namespace firstwait
