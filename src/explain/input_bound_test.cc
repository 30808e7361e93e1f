#include "explain/input_bound.h"

#include <gtest/gtest.h>

#include <cmath>

#include "explain/testing/view_builder.h"

namespace firstwait {
namespace {

// A step waits for input beyond `rest` seconds; its workers read and prepare, as measured.
struct Job {
  double rest = 0.1, wait = 0.33, reading_before = 0.001, reading = 1.4, preparing = 0.32;
  double workers = 4, cpu = 0.32, cpus = 2;
  bool onset = true;

  ViewBuilder build() const {
    ViewBuilder b(onset);
    b.rank(0, "node01");
    b.phase(Phase::input_wait, wait, 0.001).phase(Phase::backward, rest, rest);
    const double step = rest + wait;
    auto& a = b.attribution();
    a.ranks.ranks = {0};
    auto& t = b.evidence().steps;
    for (int i = 0; i < 200; ++i) {
      a.steps.step.push_back(i);
      a.steps.time.push_back(static_cast<Ns>(step * 1e9));
      a.steps.start.push_back(ViewBuilder::kBefore + i * ViewBuilder::kSecond);
      const size_t row = t.append(kNoName, 0, i, a.steps.start.back(), a.steps.time.back());
      t.set_number(t.loader_workers, row, workers);
      const bool early = onset && i < 100;
      if (preparing >= 0) {
        t.set_loader(row, LoaderWork::fetch,
                     static_cast<Ns>((early ? reading_before : reading) * 1e9));
        t.set_loader(row, LoaderWork::transform, static_cast<Ns>(preparing * 1e9));
      }
    }
    b.setting("rank/0", "loader.num_workers", std::to_string(static_cast<int>(workers)));
    if (cpu > 0)
      b.counter("firstwait_process_cpu_seconds_total", "host/node01", cpu / step, cpu / step,
                {{"rank", "0"}, {"role", "loader"}});
    if (cpus > 0) b.setting("host/node01", "cpu.count", std::to_string(static_cast<int>(cpus)));
    return b;
  }
  InputBound without(InputLimit limit) const {
    const auto b = build();
    return firstwait::without(input_demand(b.view(), wait), limit, (rest + wait) / rest);
  }
};

TEST(InputBound, WithoutReadsPreparationOnTheCpusBindsNext) {
  const auto b = Job{}.without(InputLimit::reads);
  EXPECT_NEAR(b.speedup.hi, 0.43 / 0.16, 0.02);
  EXPECT_NEAR(b.speedup.lo, 0.43 / 0.16, 0.02);
  EXPECT_EQ(b.bound_by, "input.cpu_saturated");
  EXPECT_NE(b.assumption.find("0.320 s of CPU per step and rank; it has 2 CPUs and 4 workers"),
            std::string::npos)
      << b.assumption;
}

TEST(InputBound, WithoutReadsTheWorkersBindNextWhereTheyAreFewerThanTheCpus) {
  const auto b =
      Job{.wait = 0.8, .reading = 1.48, .workers = 2, .cpus = 8}.without(InputLimit::reads);
  EXPECT_NEAR(b.speedup.hi, 0.9 / 0.16, 0.05);
  EXPECT_EQ(b.bound_by, "input.loader_underprovisioned");
}

TEST(InputBound, WithoutReadsNothingBindsWherePreparationIsLight) {
  const auto b = Job{.preparing = 0.04, .cpu = 0.04}.without(InputLimit::reads);
  EXPECT_NEAR(b.speedup.hi, 4.3, 0.01);
  EXPECT_EQ(b.bound_by, "");
}

TEST(InputBound, WithoutAPastTheLowerEndIsOpen) {
  const auto b = Job{.onset = false}.without(InputLimit::reads);
  EXPECT_NEAR(b.speedup.hi, 0.43 / 0.16, 0.02);
  EXPECT_TRUE(std::isnan(b.speedup.lo));
}

TEST(InputBound, WhatIsNotMeasuredIsSaidAndLeavesABound) {
  const auto b = Job{.cpu = 0}.without(InputLimit::reads);
  EXPECT_NEAR(b.speedup.hi, 4.3, 0.01);  // 4 workers prepare in 0.08 s
  EXPECT_TRUE(std::isnan(b.speedup.lo));
  EXPECT_EQ(b.missing,
            std::vector<std::string_view>{"firstwait_process_cpu_seconds_total of loader workers"});
  const auto c = Job{.preparing = -1, .cpu = 0}.without(InputLimit::reads);
  EXPECT_NEAR(c.speedup.hi, 4.3, 0.01);
  ASSERT_FALSE(c.missing.empty());
  EXPECT_EQ(c.missing.front(), "the workers' time per step");
}

TEST(InputBound, DemandsThatDoNotAccountForTheStepGiveNoLowerEnd) {
  const auto b = Job{.reading = 0.5}.without(InputLimit::reads);
  EXPECT_TRUE(std::isnan(b.speedup.lo));
  EXPECT_NEAR(b.speedup.hi, 0.43 / 0.16, 0.02);
}

TEST(InputBound, ReadsThatHoldThePreparationAsWellAreToldApartByTheirCpuTime) {
  // One call reads and decodes: all of it is recorded as reading.
  const auto b = Job{.reading = 1.7, .preparing = 0.02, .cpu = 0.6}.without(InputLimit::reads);
  EXPECT_NEAR(b.speedup.hi, 0.43 / 0.3, 0.02);
  EXPECT_LE(b.speedup.lo, b.speedup.hi);
  EXPECT_EQ(b.bound_by, "input.cpu_saturated");
}

TEST(InputBound, MoreWorkersHelpAsFarAsTheCpusGo) {
  Job one{.rest = 0.06, .wait = 0.05, .reading = 0, .preparing = 0.11, .workers = 1, .cpu = 0.11};
  EXPECT_NEAR(one.without(InputLimit::workers).speedup.hi, 0.11 / 0.06, 0.01);
  one.cpus = 1;
  const auto full = one.without(InputLimit::workers);
  EXPECT_NEAR(full.speedup.hi, 1, 0.02);
  EXPECT_EQ(full.bound_by, "input.cpu_saturated");
}

TEST(InputBound, MoreCpusHelpAsFarAsTheWorkersGo) {
  // Four workers share two CPUs: each batch takes twice as long as its CPU time.
  const auto b =
      Job{.rest = 0.05, .wait = 0.15, .reading = 0, .preparing = 0.8, .cpu = 0.4}.without(
          InputLimit::cpus);
  EXPECT_NEAR(b.speedup.hi, 0.2 / 0.1, 0.02);
  EXPECT_EQ(b.bound_by, "input.loader_underprovisioned");
}

TEST(InputBound, AThreadThatLoadsItselfPreparesAfterTheReadsAreGone) {
  const auto b =
      Job{.rest = 0.1, .wait = 0.3, .reading = 0.2, .preparing = 0.1, .workers = 0, .cpu = 0}
          .without(InputLimit::reads);
  EXPECT_NEAR(b.speedup.hi, 0.4 / 0.2, 0.01);
  EXPECT_EQ(b.bound_by, "input.loading_in_main_thread");
}

TEST(InputBound, RanksOnOneHostShareItsCpus) {
  const Job job;
  auto b = job.build();
  b.rank(1, "node01").attribution().ranks.ranks = {0, 1};
  b.counter("firstwait_process_cpu_seconds_total", "host/node01", 0.7, job.cpu / 0.43,
            {{"rank", "1"}, {"role", "loader"}});
  const auto d = input_demand(b.view(), job.wait);
  EXPECT_NEAR(d.cpu_s, 0.32, 0.01);
  EXPECT_NEAR(d.cpus_s, 0.32, 0.01) << "two ranks, two CPUs";
}

TEST(InputBound, ARankConfinedToOneCpuHasThatOneOnly) {
  auto b = Job{}.build();
  b.setting("rank/0", "cpu.affinity", "3");
  const auto d = input_demand(b.view(), 0.33);
  EXPECT_NEAR(d.cpus_s, 0.32, 0.01);
  EXPECT_EQ(d.cpu_cause, "input.cpu_entitlement");
}

}  // namespace
}  // namespace firstwait
