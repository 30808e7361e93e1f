#include <gtest/gtest.h>

#include "explain/testing/case_file.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_input_loader_underprovisioned;
namespace {

Verdict test(const ViewBuilder& b) {
  return hypothesis_input_loader_underprovisioned.test(b.view());
}

// Two workers per rank, `work` seconds of loader work in each step of 0.33 s, `reading` of it
// reading.
ViewBuilder job(double work, double reading) {
  ViewBuilder b(false);
  b.phase(Phase::input_wait, 0.217, 0).phase(Phase::backward, 0.113, 0);
  b.rank(0, "a").setting("host/a", "cpu.count", "16").setting("job/a", "loader.num_workers", "2");
  auto& steps = b.evidence().steps;
  for (int i = 0; i < 10; ++i) {
    const auto row = steps.append(kNoName, 0, i, kNoTime, 330'000'000);
    steps.set_loader(row, LoaderWork::fetch, static_cast<Ns>(reading * 1e9));
    steps.set_loader(row, LoaderWork::decode, static_cast<Ns>((work - reading) * 1e9));
    steps.set_number(steps.loader_workers, row, 2);
  }
  return b;
}

TEST(InputLoaderUnderprovisioned, BusyWorkersBesideIdleCores) {
  auto b = job(0.65, 0.05);
  b.counter("node_cpu_seconds_total", "host/a", 4, 4, {{"mode", "user"}});
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_GE(v.llr, 3.5);
}

TEST(InputLoaderUnderprovisioned, WorkersThatReadAreNotShortOfWorkers) {
  const auto v = test(job(0.65, 0.6));
  EXPECT_NE(v.outcome, Outcome::supported);
}

TEST(InputLoaderUnderprovisioned, IdleWorkersRefute) {
  const auto v = test(job(0.33, 0.02));
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_EQ(v.reason, "workers compute 50 %, not ≈ 100 %");
}

TEST(InputLoaderUnderprovisioned, FullHostRefutes) {
  auto b = job(0.65, 0.05);
  b.counter("node_cpu_seconds_total", "host/a", 15.9, 15.9, {{"mode", "user"}});
  EXPECT_NE(test(b).outcome, Outcome::supported);
}

TEST(InputLoaderUnderprovisioned, CoresThatOtherProgramsUseAreNotFree) {
  auto b = job(0.65, 0.05);
  b.counter("node_cpu_seconds_total", "host/a", 15.9, 15.9, {{"mode", "user"}})
      .counter("firstwait_process_cpu_seconds_total", "host/a", 2, 2, {{"role", "loader"}});
  EXPECT_NE(test(b).outcome, Outcome::supported);
}

TEST(InputLoaderUnderprovisioned, ConfinedWorkersAreAnothersCause) {
  auto b = job(0.65, 0.05);
  b.setting("rank/0", "cpu.affinity", "0").setting("host/a", "cpu.affinity", "0");
  EXPECT_NE(test(b).outcome, Outcome::supported);
}

TEST(InputLoaderUnderprovisioned, FewWorkersOnALargeHostIsOnlyModerate) {
  ViewBuilder b(false);
  b.phase(Phase::input_wait, 0.217, 0).phase(Phase::backward, 0.113, 0);
  b.rank(0, "a").setting("host/a", "cpu.count", "16").setting("job/a", "loader.num_workers", "2");
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_LE(v.llr, 2);
}

TEST(InputLoaderUnderprovisioned, UntestedWithoutSignals) {
  ViewBuilder b(false);
  EXPECT_EQ(test(b).outcome, Outcome::untested);
  b.phase(Phase::input_wait, 0.2, 0).phase(Phase::backward, 0.1, 0);
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

TEST(InputLoaderUnderprovisioned, WorkersOfRanksThatCarryTheWaitCount) {
  auto b = job(0.65, 0.05);
  b.rank(1, "a");
  b.attribution().ledger.front().ranks = {0};
  auto& steps = b.evidence().steps;
  for (int i = 0; i < 30; ++i) {  // those of rank 1 rest
    const auto row = steps.append(kNoName, 1, i % 10, kNoTime, 330'000'000);
    steps.set_loader(row, LoaderWork::fetch, 1'000'000);
    steps.set_number(steps.loader_workers, row, 2);
  }
  EXPECT_EQ(test(b).outcome, Outcome::supported);
}

TEST(InputLoaderUnderprovisioned, CpusThatOthersUseAreNotIdle) {
  auto b = job(0.65, 0.05);
  b.counter("firstwait_process_cpu_seconds_total", "host/a", 3, 3, {{"role", "loader"}});
  EXPECT_EQ(test(b).outcome, Outcome::supported);
  for (int cpu = 0; cpu < 16; ++cpu)
    b.counter("node_cpu_seconds_total", "host/a", 1, 1,
              {{"cpu", std::to_string(cpu)}, {"mode", "user"}});
  const auto v = test(b);
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.because;
}

// One busy worker and one processor that is free but for what the training thread takes.
TEST(InputLoaderUnderprovisioned, OneFreeCpuOfTwoIsRoomForAWorkerMore) {
  const auto v = test_case(hypothesis_input_loader_underprovisioned,
                           "pattern chronic\n"
                           "phase input_wait 0.05\n"
                           "phase backward 0.06\n"
                           "rank 0 a\n"
                           "setting host/a cpu.count = 2\n"
                           "setting rank/0 loader.num_workers = 1\n"
                           "loader 1 0.109 0.01\n"
                           "counter node_cpu_seconds_total{mode=user} host/a 1.01\n"
                           "counter firstwait_process_cpu_seconds_total{role=loader} rank/0 0.99\n"
                           "counter firstwait_process_cpu_seconds_total{role=trainer} rank/0 "
                           "0.01\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason;
}

}  // namespace
}  // namespace firstwait
