#include "align/align.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace firstwait {
namespace {

uint64_t counted(const Evidence& evidence, std::string_view name) {
  uint64_t n = 0;
  for (const HealthEntry& entry : evidence.health.entries())
    if (entry.counter->name == name) n += entry.count;
  return n;
}

constexpr Ns kEpoch = 1'760'000'000'000'000'000;
constexpr Ns kMs = 1'000'000;

TEST(Align, KeepsTheJobWithMostRowsAndCountsTheOthers) {
  Evidence evidence;
  const NameId a = evidence.names.intern("a"), b = evidence.names.intern("b");
  for (int32_t s = 0; s < 5; ++s) evidence.steps.append(a, 0, s, kNoTime, 10);
  for (int32_t s = 0; s < 3; ++s) evidence.steps.append(b, 0, s, kNoTime, 20);
  align(evidence, {});
  EXPECT_EQ(evidence.steps.size(), 5U);
  EXPECT_EQ(evidence.job.id, "a");
  EXPECT_EQ(counted(evidence, "other_jobs"), 3U);
}

TEST(Align, AJobThatIsNotThereLeavesNothing) {
  Evidence evidence;
  evidence.steps.append(evidence.names.intern("a"), 0, 0, kNoTime, 10);
  AlignOptions options;
  options.job = "z";
  align(evidence, options);
  EXPECT_EQ(evidence.steps.size(), 0U);
  EXPECT_EQ(counted(evidence, "job_not_found"), 1U);
}

TEST(Align, SortsDropsDuplicatesAndCutsTheWindow) {
  Evidence evidence;
  for (const int32_t s : {3, 1, 2, 1})
    for (const int32_t r : {1, 0})
      evidence.steps.append(kNoName, r, s, kEpoch + s * 100 * kMs, 100 * kMs);
  AlignOptions options;
  options.until = kEpoch + 250 * kMs;
  align(evidence, options);
  EXPECT_EQ(evidence.steps.rank, (std::vector<int32_t>{0, 0, 1, 1}));
  EXPECT_EQ(evidence.steps.step, (std::vector<int32_t>{1, 2, 1, 2}));
  EXPECT_EQ(counted(evidence, "duplicate_rows"), 2U);
  EXPECT_EQ(counted(evidence, "outside_window"), 2U);
}

TEST(Align, WhatWasSetOrHappenedAfterTheWindowDoesNotHoldInIt) {
  Evidence evidence;
  for (int32_t s = 0; s < 5; ++s)
    evidence.steps.append(kNoName, 0, s, kEpoch + s * 100 * kMs, 100 * kMs);
  const auto setting = [&](const char* value, Ns time) {
    evidence.settings.push_back({"rank/0", "storage.read_iops", value, "", time});
  };
  setting("72", kEpoch - 100 * kMs);
  setting("unlimited", kEpoch + 400 * kMs);
  setting("60", kNoTime);
  Event event;
  event.kind = "neighbour_start";
  event.start = kEpoch - 200 * kMs;
  evidence.events.push_back(event);
  event.start = kEpoch + 400 * kMs;
  evidence.events.push_back(event);
  AlignOptions options;
  options.since = kEpoch;
  options.until = kEpoch + 350 * kMs;
  align(evidence, options);
  ASSERT_EQ(evidence.settings.size(), 2U);
  EXPECT_EQ(evidence.settings[0].value, "72") << "set before, in force";
  EXPECT_EQ(evidence.settings[1].value, "60") << "no time";
  ASSERT_EQ(evidence.events.size(), 1U);
  EXPECT_EQ(evidence.events[0].start, kEpoch - 200 * kMs);
  EXPECT_EQ(counted(evidence, "outside_window"), 3U);
}

TEST(Align, TheLastAttemptAfterARestartWins) {
  Evidence evidence;
  for (int32_t s = 0; s < 10; ++s)
    evidence.steps.append(kNoName, 0, s, kEpoch + s * 100 * kMs, 100 * kMs);
  for (int32_t s = 6; s < 12; ++s)
    evidence.steps.append(kNoName, 0, s, kEpoch + (s + 100) * 100 * kMs, 90 * kMs);
  align(evidence, {});
  ASSERT_EQ(evidence.steps.size(), 12U);
  EXPECT_EQ(evidence.steps.duration[5], 100 * kMs);
  EXPECT_EQ(evidence.steps.duration[6], 90 * kMs);
  EXPECT_EQ(counted(evidence, "restarted_steps"), 4U);
  ASSERT_EQ(evidence.events.size(), 1U);
  EXPECT_EQ(evidence.events[0].kind, "restart");
  EXPECT_EQ(evidence.events[0].attribute("step"), "6");
}

TEST(Align, ALogOfTheSameStepsIsASecondAccountAndAddsItsLoss) {
  for (const Ns log_start : {kNoTime, kEpoch - 3600 * 1000 * kMs}) {
    Evidence evidence;
    StepTable& t = evidence.steps;
    for (int32_t s = 0; s < 10; ++s) {
      const size_t told = t.append(kNoName, 0, s, kEpoch + s * 100 * kMs, 100 * kMs);
      t.set_phase(told, Phase::input_wait, 40 * kMs);
      const size_t log = t.append(
          kNoName, 0, s, log_start == kNoTime ? kNoTime : log_start + s * 100 * kMs, 101 * kMs);
      t.set_number(t.loss, log, 3.0 - s);
    }
    align(evidence, {});
    ASSERT_EQ(t.size(), 10U);
    EXPECT_EQ(t.phase(4, Phase::input_wait), 40 * kMs);
    EXPECT_EQ(t.duration[4], 100 * kMs);
    EXPECT_EQ(StepTable::number(t.loss, 4), -1.0);
    EXPECT_EQ(counted(evidence, "two_sources"), 10U);
    EXPECT_EQ(evidence.health.entries().at(0).first_place,
              "rank 0, step 0: 0.1 s kept, 0.101 s left out");
    EXPECT_EQ(counted(evidence, "restarted_steps"), 0U);
    EXPECT_TRUE(evidence.events.empty()) << "nothing restarted";
  }
}

TEST(Align, SeriesAreMergedInTimeOrderAndResetsStay) {
  Evidence evidence;
  Series a;
  a.metric = evidence.names.intern("m");
  a.time = {3, 1};
  a.value = {30, 10};
  Series b = a;
  b.time = {2, 3};
  b.value = {5, 30};
  evidence.series = {a, b};
  align(evidence, {});
  ASSERT_EQ(evidence.series.size(), 1U);
  EXPECT_EQ(evidence.series[0].time, (std::vector<Ns>{1, 2, 3}));
  EXPECT_EQ(evidence.series[0].value, (std::vector<double>{10, 5, 30}));
}

TEST(Clocks, OffsetsComeFromDeviceAllReduceEndsOnly) {
  Evidence evidence;
  const NameId group = evidence.names.intern("dp"),
               all_reduce = evidence.names.intern("all_reduce"),
               broadcast = evidence.names.intern("broadcast");
  for (int32_t i = 0; i < 20; ++i)
    for (int32_t r = 0; r < 3; ++r) {
      const Ns skew = r * 7 * kMs, late = r == 1 ? 3 * kMs : 0,
               jitter = (i * 37 + r * 11) % 5 * 1000;
      const Ns end = kEpoch + i * 100 * kMs + 20 * kMs;
      evidence.collectives.append(r, i, group, all_reduce, i, end - skew - 10 * kMs + late,
                                  10 * kMs - late + jitter, -1, true);
      evidence.collectives.append(r, i, group, broadcast, i, end, 50 * kMs * r, -1, true);
      evidence.collectives.append(r, i, group, all_reduce, 1000 + i, end, 90 * kMs * r, -1, false);
    }
  align(evidence, {});
  EXPECT_EQ(evidence.ranks[0].clock_offset, 0);
  EXPECT_NEAR(static_cast<double>(evidence.ranks[1].clock_offset), 7e6, 5000);
  EXPECT_NEAR(static_cast<double>(evidence.ranks[2].clock_offset), 14e6, 5000);
  EXPECT_GT(evidence.ranks[2].clock_uncertainty, 0);
  EXPECT_LT(evidence.ranks[2].clock_uncertainty, 10'000);
  EXPECT_EQ(counted(evidence, "clock_skew"), 2U);
}

TEST(Clocks, RanksOfOneHostShareAClock) {
  Evidence evidence;
  const NameId group = evidence.names.intern("dp"),
               all_reduce = evidence.names.intern("all_reduce");
  for (int32_t r = 0; r < 4; ++r) evidence.rank(r).host = r < 2 ? "a" : "b";
  for (int32_t i = 0; i < 10; ++i)
    for (int32_t r = 0; r < 3; ++r)
      evidence.collectives.append(r, i, group, all_reduce, i,
                                  kEpoch + i * kMs - (r == 2 ? 4 * kMs : 0), 1000, -1, true);
  align(evidence, {});
  EXPECT_EQ(evidence.ranks[2].clock_offset, 4 * kMs);
  EXPECT_EQ(evidence.ranks[3].clock_offset, 4 * kMs);
}

TEST(Clocks, RelativeTimesAreLaidBesideTheOthersByStep) {
  Evidence evidence;
  evidence.rank(1).relative_time = true;
  for (int32_t s = 0; s < 10; ++s) {
    evidence.steps.append(kNoName, 0, s, kEpoch + s * 100 * kMs, 100 * kMs);
    evidence.steps.append(kNoName, 1, s, s * 100 * kMs, 100 * kMs);
  }
  align(evidence, {});
  EXPECT_EQ(evidence.ranks[1].clock_offset, kEpoch);
  EXPECT_EQ(counted(evidence, "relative_times"), 1U);
}

}  // namespace
}  // namespace firstwait
