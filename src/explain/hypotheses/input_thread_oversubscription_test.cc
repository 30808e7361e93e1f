#include <gtest/gtest.h>

#include "explain/testing/case_file.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_input_thread_oversubscription;
namespace {

Verdict test(const ViewBuilder& b) {
  return hypothesis_input_thread_oversubscription.test(b.view());
}

ViewBuilder eight_ranks() {
  ViewBuilder b(false);
  b.phase(Phase::host, 0.4, 0).phase(Phase::backward, 0.1, 0).setting("host/a", "cpu.count", "16");
  for (int32_t r = 0; r < 8; ++r) b.rank(r, "a");
  return b;
}

TEST(InputThreadOversubscription, ThreadsQueueAndTheLimitIsUnset) {
  auto b = eight_ranks();
  b.setting("job/j", "env.OMP_NUM_THREADS", "unset");
  b.counter("firstwait_process_runqueue_seconds_total", "host/a", 40, 40)
      .counter("firstwait_process_cpu_seconds_total", "host/a", 15, 15);
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_GE(v.llr, 2);
}

TEST(InputThreadOversubscription, ThreadsThatRunAtOnceRefute) {
  auto b = eight_ranks();
  b.counter("firstwait_process_runqueue_seconds_total", "host/a", 0.3, 0.3)
      .counter("firstwait_process_cpu_seconds_total", "host/a", 10, 10);
  const auto v = test(b);
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_EQ(v.reason, "threads wait 3 % of the time they run");
}

TEST(InputThreadOversubscription, ThreadsThatQueuedAsMuchBeforeRefute) {
  ViewBuilder b;
  b.phase(Phase::input_wait, 0.4, 0.01).setting("host/a", "cpu.count", "16").rank(0, "a");
  b.counter("firstwait_process_runqueue_seconds_total", "host/a", 30, 35)
      .counter("firstwait_process_cpu_seconds_total", "host/a", 10, 10);
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(InputThreadOversubscription, OtherProgramsOnTheCpusRefute) {
  ViewBuilder b;
  b.phase(Phase::input_wait, 0.4, 0.01).setting("host/a", "cpu.count", "2").rank(0, "a");
  b.counter("firstwait_process_runqueue_seconds_total", "rank/0", 0.1, 3)
      .counter("firstwait_process_cpu_seconds_total", "rank/0", 0.1, 0.1)
      .counter("node_cpu_seconds_total", "host/a", 2, 2, {{"mode", "user"}});
  const auto v = test(b);
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_EQ(v.reason, "other programs use 1.9 CPUs, the job 0.1");
}

TEST(InputThreadOversubscription, OtherProgramsRefuteAlsoWhereEveryRankHasAMask) {
  ViewBuilder b(false);
  b.phase(Phase::backward, 0.1, 0).setting("host/a", "cpu.count", "2");
  for (int32_t r = 0; r < 3; ++r) {
    b.rank(r, "a").setting("rank/" + std::to_string(r), "cpu.affinity", "0-1");
    b.counter("firstwait_process_runqueue_seconds_total", "rank/" + std::to_string(r), 1.2, 1.2)
        .counter("firstwait_process_cpu_seconds_total", "rank/" + std::to_string(r), 0.2, 0.2);
  }
  b.counter("node_cpu_seconds_total", "host/a", 1.9, 1.9, {{"mode", "user"}});
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(InputThreadOversubscription, OneThreadPerProcessRefutes) {
  auto b = eight_ranks();
  b.setting("job/j", "env.OMP_NUM_THREADS", "1");
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(InputThreadOversubscription, ManyProcessesOfOneThreadHaveNothingToLimit) {
  ViewBuilder b(false);
  b.phase(Phase::input_wait, 0.4, 0)
      .phase(Phase::backward, 0.1, 0)
      .setting("host/a", "cpu.count", "2");
  b.rank(0, "a").rank(1, "a").setting("job/j", "loader.num_workers", "2");
  b.setting("job/j", "env.OMP_NUM_THREADS", "1");
  b.counter("firstwait_process_runqueue_seconds_total", "rank/0", 1.1, 1.1, {{"role", "loader"}});
  b.counter("firstwait_process_cpu_seconds_total", "rank/0", 1, 1, {{"role", "loader"}});
  EXPECT_LE(test(b).llr, 0) << test(b).because;
}

TEST(InputThreadOversubscription, UnknownSettingIsUntested) {
  EXPECT_EQ(test(eight_ranks()).outcome, Outcome::untested);
}

TEST(InputThreadOversubscription, NothingFromNothing) {
  EXPECT_EQ(test(ViewBuilder(false)).outcome, Outcome::untested);
}

// Rank 1's loader waits for data; threads of rank 0 wait for a CPU, which holds nobody up.
TEST(InputThreadOversubscription, ThreadsOfARankThatHoldsNobodyUp) {
  ViewBuilder b(false);
  b.phase(Phase::input_wait, 0.4, 0).phase(Phase::backward, 0.1, 0);
  b.attribution().ledger.front().ranks = {1};
  b.rank(0, "a").rank(1, "a").setting("host/a", "cpu.count", "2");
  b.counter("firstwait_process_runqueue_seconds_total", "rank/0", 3, 3)
      .counter("firstwait_process_cpu_seconds_total", "rank/0", 0.2, 0.2);
  EXPECT_EQ(test(b).outcome, Outcome::supported);
  auto& steps = b.evidence().steps;
  for (int32_t rank = 0; rank < 2; ++rank) {
    const auto row = steps.append(kNoName, rank, 5, kNoTime, 500'000'000);
    steps.set_loader(row, LoaderWork::fetch, rank == 1 ? 400'000'000 : 0);
    steps.set_loader(row, LoaderWork::transform, rank == 1 ? 10'000'000 : 450'000'000);
  }
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(InputThreadOversubscription, OtherProgramsThatWereThereDoNotExcuseMoreThreads) {
  const std::string job =
      "phase forward 0.02 -> 0.05\n"
      "phase input_wait 0.0 -> 0.03\n"
      "rank 0 a\n"
      "setting host/a cpu.count = 2\n"
      "counter node_cpu_seconds_total{mode=user} host/a 1.5 -> 2\n"
      "counter firstwait_process_runqueue_seconds_total{role=loader} rank/0 0.45 -> 2.3\n"
      "counter firstwait_process_cpu_seconds_total{role=loader} rank/0 0.48 -> 0.95\n";
  EXPECT_EQ(test_case(hypothesis_input_thread_oversubscription, job).outcome, Outcome::refuted);
  const auto v = test_case(hypothesis_input_thread_oversubscription,
                           job + "gauge firstwait_process_threads{role=loader} rank/0 6 -> 70\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason;
}

}  // namespace
}  // namespace firstwait
