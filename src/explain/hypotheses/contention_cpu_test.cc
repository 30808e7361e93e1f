#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_contention_cpu;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_contention_cpu, text); }

TEST(ContentionCpu, OthersFillTheHost) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "rank 0 a\n"
      "setting host/a cpu.count = 16\n"
      "counter node_cpu_seconds_total{mode=user} host/a 7 -> 15.8\n"
      "counter firstwait_process_cpu_seconds_total{role=loader} host/a 6.5 -> 6.4\n"
      "event neighbour_start job/b -5\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_GE(v.llr, 4);
}

TEST(ContentionCpu, OthersThatWereThereComeBeforeTheJob) {
  const auto v = test(
      "phase collective 0.01 -> 0.16\n"
      "phase backward 0.04 -> 0.13\n"
      "rank 0 a\n"
      "setting host/a cpu.count = 2\n"
      "counter node_cpu_seconds_total{mode=user} host/a 2 -> 2\n"
      "counter firstwait_process_runqueue_seconds_total{role=loader} rank/0 0.1 -> 3.0\n"
      "counter firstwait_process_cpu_seconds_total{role=loader} rank/0 0.1 -> 0.05\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_GE(v.llr, 3);
  EXPECT_EQ(v.where.front(), "host/a");
}

TEST(ContentionCpu, OthersThatWereThereAndDoNotDisturb) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "rank 0 a\n"
      "setting host/a cpu.count = 2\n"
      "counter node_cpu_seconds_total{mode=user} host/a 2 -> 2\n"
      "counter firstwait_process_runqueue_seconds_total{role=loader} rank/0 0.3 -> 0.35\n"
      "counter firstwait_process_cpu_seconds_total{role=loader} rank/0 0.1 -> 0.1\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(ContentionCpu, OwnLoadFillsTheHost) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "rank 0 a\n"
      "setting host/a cpu.count = 16\n"
      "counter node_cpu_seconds_total{mode=user} host/a 7 -> 15.8\n"
      "counter firstwait_process_cpu_seconds_total{role=loader} host/a 6.5 -> 15.5\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(ContentionCpu, HostIdles) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "rank 0 a\n"
      "setting host/a cpu.count = 64\n"
      "counter node_cpu_seconds_total{mode=user} host/a 7 -> 9\n"
      "event neighbour_start job/b -5\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(ContentionCpu, NotKnownWhoseCpuItIs) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n"
      "rank 0 a\n"
      "setting host/a cpu.count = 16\n"
      "counter node_cpu_seconds_total{mode=user} host/a 7 -> 15.8\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

TEST(ContentionCpu, WithoutCpuTimes) {
  const auto v = test(
      "phase input_wait 0.02 -> 0.40\n"
      "phase backward 0.10 -> 0.10\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

constexpr auto kFullHost =
    "pattern chronic\n"
    "phase input_wait 0.40\n"
    "phase backward 0.10\n"
    "rank 0 a\n"
    "setting host/a cpu.count = 4\n"
    "counter node_cpu_seconds_total{mode=user} host/a 3.9\n"
    "counter firstwait_process_cpu_seconds_total{role=loader} host/a 0.2\n";

TEST(ContentionCpu, WorkersThatWaitForDataAreNotShortOfCpu) {
  const std::string host = kFullHost;
  EXPECT_EQ(test(host).outcome, Outcome::supported);
  EXPECT_EQ(test(host + "loader 2 0.8 0.1\n").outcome, Outcome::supported);
  const auto v = test(host + "loader 2 0.8 0.9\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.because;
  EXPECT_EQ(v.reason, "90 % of the workers' time is waiting for data, not for a CPU");
}

TEST(ContentionCpu, WhereBatchesLieReadyItIsNotTheWorkersThatHoldUp) {
  const auto v = test(std::string(kFullHost) + "loader 2 0.8 0.9 queued 2\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason;
}

TEST(ContentionCpu, WorkersThatRunWhenTheyWantToAreNotHeldUp) {
  const std::string queued =
      "counter firstwait_process_runqueue_seconds_total{role=loader} host/a ";
  const auto v = test(kFullHost + queued + "0.05\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.because;
  EXPECT_EQ(v.reason, "the workers run 80 % of the time in which they want a CPU");
  EXPECT_EQ(test(kFullHost + queued + "0.6\n").outcome, Outcome::supported);
}

TEST(ContentionCpu, OwnThreadsThatMultiplyAreNotTheNeighbours) {
  const std::string job =
      "phase forward 0.02 -> 0.05\n"
      "phase input_wait 0.0 -> 0.03\n"
      "rank 0 a\n"
      "setting host/a cpu.count = 2\n"
      "counter node_cpu_seconds_total{mode=user} host/a 1.5 -> 2\n"
      "counter firstwait_process_runqueue_seconds_total{role=loader} rank/0 0.45 -> 2.3\n"
      "counter firstwait_process_cpu_seconds_total{role=loader} rank/0 0.48 -> 0.95\n";
  EXPECT_EQ(test(job).outcome, Outcome::supported);
  const auto v = test(job + "gauge firstwait_process_threads{role=loader} rank/0 6 -> 70\n");
  EXPECT_LT(v.llr, 0.5) << v.because;
}

}  // namespace
}  // namespace firstwait
