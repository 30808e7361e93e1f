#include "align/plausible.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace firstwait {
namespace {

constexpr Ns kSecond = 1'000'000'000, kEpoch = 1'760'000'000 * kSecond;

uint64_t counted(const Evidence& evidence, std::string_view name) {
  uint64_t n = 0;
  for (const HealthEntry& entry : evidence.health.entries())
    if (entry.counter->name == name) n += entry.count;
  return n;
}

// Sixty samples, one every 15 s.
Evidence with(std::string_view metric, const std::function<double(int)>& value,
              std::string_view cpu = "") {
  Evidence e;
  Series s;
  s.metric = e.names.intern(metric);
  s.entity = e.names.intern("host/a");
  if (!cpu.empty()) s.labels.emplace_back(e.names.intern("cpu"), e.names.intern(cpu));
  for (int i = 0; i < 60; ++i) {
    s.time.push_back(kEpoch + i * 15 * kSecond);
    s.value.push_back(value(i));
  }
  e.series.push_back(std::move(s));
  drop_impossible_samples(e);
  return e;
}

TEST(Plausible, AUtilizationAboveAHundredPerCentIsLeftOutAndNamed) {
  const auto e = with("DCGM_FI_DEV_GPU_UTIL", [](int i) {
    return i % 10 == 0 ? 2550.0 : i % 10 == 1 ? -1 : 97;
  });
  EXPECT_EQ(e.series.at(0).value.size(), 48U);
  EXPECT_EQ(counted(e, "impossible_value"), 12U);
  EXPECT_EQ(e.health.entries().at(0).first_place, "DCGM_FI_DEV_GPU_UTIL of host/a");
}

TEST(Plausible, NegativeBytesAreLeftOut) {
  EXPECT_TRUE(with("node_memory_MemAvailable_bytes", [](int) { return -5.0; }).series.empty());
}

TEST(Plausible, OneCpuIsBusyOneSecondASecondAtMost) {
  const auto burns = [](double cpus) { return [cpus](int i) { return 1000 + 15 * cpus * i; }; };
  EXPECT_TRUE(with("node_cpu_seconds_total", burns(20), "0").series.empty());
  EXPECT_EQ(counted(with("node_cpu_seconds_total", burns(20), "0"), "counter_too_fast"), 60U);
  EXPECT_EQ(with("node_cpu_seconds_total", burns(1), "0").series.size(), 1U);
  // All CPUs of the host added up.
  EXPECT_EQ(with("node_cpu_seconds_total", burns(20)).series.size(), 1U);
}

TEST(Plausible, ACounterMayBeResetButNotAtEveryOtherSample) {
  const auto every = [](int n) { return [n](int i) { return 1e6 * (i % n); }; };
  EXPECT_EQ(with("node_netstat_Tcp_RetransSegs", every(20)).series.size(), 1U);
  const auto sawtooth = with("node_netstat_Tcp_RetransSegs", every(2));
  EXPECT_TRUE(sawtooth.series.empty());
  EXPECT_EQ(counted(sawtooth, "counter_falls"), 60U);
}

TEST(Plausible, WorkersThatEndTakeTheirProcessorTimeWithThem) {
  EXPECT_EQ(with("firstwait_process_cpu_seconds_total", [](int i) { return 10.0 * (i % 2); })
                .series.size(),
            1U);
}

// Four ranks of 100 steps of half a second.
std::vector<size_t> kept(const std::function<Ns(int32_t rank)>& factor, Health& health) {
  StepTable t;
  for (int32_t r = 0; r < 4; ++r)
    for (int32_t s = 0; s < 100; ++s)
      t.append(kNoName, r, s, kEpoch + s * kSecond / 2, factor(r) * kSecond / 2);
  return steps_of_one_unit(t, health);
}

TEST(Plausible, ARankInMillisecondsIsLeftOutAndNamed) {
  Health health;
  EXPECT_EQ(kept([](int32_t r) { return r == 3 ? 1000 : 1; }, health).size(), 300U);
  ASSERT_EQ(health.entries().size(), 1U);
  EXPECT_EQ(health.entries()[0].count, 100U);
  EXPECT_EQ(health.entries()[0].first_place, "rank/3");
}

TEST(Plausible, AllRanksAlikeOrMerelySlowStay) {
  Health health;
  EXPECT_EQ(kept([](int32_t) { return 1000; }, health).size(), 400U);
  EXPECT_EQ(kept([](int32_t r) { return r == 3 ? 20 : 1; }, health).size(), 400U);
  EXPECT_TRUE(health.entries().empty());
}

// Steps of one second that begin every `apart`, `forward` and `backward` in milliseconds.
StepTable phased(const std::function<std::pair<Ns, Ns>(int)>& phases, Ns apart = kSecond) {
  StepTable t;
  for (int i = 0; i < 20; ++i) {
    const size_t row = t.append(kNoName, i / 10, i % 10, kEpoch + i % 10 * apart, kSecond);
    const auto [forward, backward] = phases(i);
    t.set_phase(row, Phase::forward, forward * 1'000'000);
    t.set_phase(row, Phase::backward, backward * 1'000'000);
  }
  return t;
}

TEST(Plausible, PhasesThatMostlyExceedTheirStepAreAllLeftOut) {
  StepTable t = phased([](int i) { return std::pair<Ns, Ns>(i % 3 == 0 ? 300 : 900, 600); });
  Health health;
  drop_impossible_phases(t, health);
  for (size_t row = 0; row < t.size(); ++row) {
    EXPECT_EQ(t.phase(row, Phase::forward), kNoDuration);
    EXPECT_EQ(t.phase(row, Phase::backward), kNoDuration);
  }
  EXPECT_EQ(t.duration.at(0), kSecond);
  ASSERT_EQ(health.entries().size(), 1U);
  EXPECT_EQ(health.entries()[0].counter->name, "phases_left_out");
  EXPECT_EQ(health.entries()[0].count, 13U);
  EXPECT_EQ(health.entries()[0].first_place, "rank 0, step 1");
}

TEST(Plausible, FewRowsWhosePhasesExceedTheirStepLoseTheirsOnly) {
  StepTable t = phased([](int i) { return std::pair<Ns, Ns>(i == 7 ? 3000 : 300, 600); });
  Health health;
  drop_impossible_phases(t, health);
  EXPECT_EQ(t.phase(7, Phase::forward), kNoDuration);
  EXPECT_EQ(t.phase(8, Phase::forward), 300'000'000);
  EXPECT_EQ(health.entries().at(0).count, 1U);
}

TEST(Plausible, ADurationThatLeavesTheLoadingOutIsNoContradiction) {
  StepTable t = phased([](int) { return std::pair<Ns, Ns>(900, 600); }, 1'600'000'000);
  Health health;
  drop_impossible_phases(t, health);  // of the last step of a rank the next start is not known
  EXPECT_EQ(t.phase(0, Phase::forward), 900'000'000);
  EXPECT_EQ(health.entries().at(0).count, 2U);
}

TEST(Plausible, PhasesThatExceedTheirStepByRoundingStay) {
  StepTable t = phased([](int) { return std::pair<Ns, Ns>(440, 600); });  // 4 % more
  Health health;
  drop_impossible_phases(t, health);
  EXPECT_EQ(t.phase(0, Phase::forward), 440'000'000);
  EXPECT_TRUE(health.entries().empty());
}

}  // namespace
}  // namespace firstwait
