#include "align/continuity.h"

#include <gtest/gtest.h>

#include "align/align.h"

namespace firstwait {
namespace {

constexpr Ns kEpoch = 1'764'500'000'000'000'123, kMs = 1'000'000;

uint64_t counted(Evidence& evidence, std::string_view name) {
  align(evidence, {});
  uint64_t n = 0;
  for (const HealthEntry& entry : evidence.health.entries())
    if (entry.counter->name == name) n += entry.count;
  return n;
}

TEST(Continuity, StepsThatOverlapAreCounted) {
  for (const Ns lasting : {990, 1500}) {
    Evidence evidence;
    const NameId op = evidence.names.intern("all_reduce");
    for (int32_t s = 0; s < 100; ++s)
      evidence.spans.append(0, s, kEpoch + s * 1000 * kMs, lasting * kMs + 1, op, Phase::collective,
                            Lane::main_thread, 1);
    EXPECT_EQ(counted(evidence, "overlapping_steps"), lasting > 1000 ? 99U : 0U);
  }
}

TEST(Continuity, StepsThatRunBackwardsAreCounted) {
  Evidence evidence;
  for (int32_t s = 0; s < 100; ++s)
    evidence.steps.append(kNoName, 0, s, kEpoch - s * 1000 * kMs, 900 * kMs);
  EXPECT_EQ(counted(evidence, "steps_run_backwards"), 99U);
}

TEST(Continuity, ARankThatStopsWhileTheOthersGoOnIsTold) {
  for (const int32_t last : {99, 197}) {  // records are not cut at the same step
    Evidence evidence;
    for (int32_t r = 0; r < 8; ++r)
      for (int32_t s = 0; s < 200; ++s)
        if (r != 3 || s <= last)
          evidence.steps.append(kNoName, r, s, kEpoch + s * 100 * kMs, 100 * kMs);
    EXPECT_EQ(counted(evidence, "rank_stops_early"), last == 99 ? 1U : 0U);
  }
}

TEST(Continuity, ClocksThatHaveNoTimeInCommonAreTold) {
  for (const Ns apart : {Ns{2'000}, Ns{31'536'000'000}}) {
    Evidence evidence;
    for (int32_t r = 0; r < 2; ++r)
      for (int32_t s = 0; s < 100; ++s)
        evidence.steps.append(kNoName, r, s, kEpoch + r * apart * kMs + s * 100 * kMs, 100 * kMs);
    EXPECT_EQ(counted(evidence, "clocks_apart"), apart > 10'000 ? 1U : 0U);
  }
}

// Ranks that were recorded one behind the other tell of different steps.
TEST(Continuity, ARankThatJoinedLaterHasNoWrongClock) {
  Evidence evidence;
  for (int32_t s = 0; s < 200; ++s)
    evidence.steps.append(kNoName, s < 100 ? 0 : 1, s, kEpoch + s * 100 * kMs, 100 * kMs);
  EXPECT_EQ(counted(evidence, "clocks_apart"), 0U);
}

}  // namespace
}  // namespace firstwait
