#include "attribute/trace_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace firstwait {
namespace {

constexpr Ns kMs = 1'000'000;
constexpr Ns kStart = 1'700'000'000'000'000'000;

// Builds the spans of a trace; times in milliseconds from the start.
class Trace {
 public:
  explicit Trace(int32_t rank = 0) : rank_(rank) {}
  Trace& main(std::string_view op, Ns start, Ns duration) {
    return add(op, start, duration, Lane::main_thread, 1);
  }
  Trace& autograd(Ns start, Ns duration) {
    return add("autograd::engine::evaluate_function: AddmmBackward0", start, duration,
               Lane::host_thread, 2);
  }
  Trace& other(std::string_view op, Ns start, Ns duration) {
    return add(op, start, duration, Lane::host_thread, 3);
  }
  Trace& kernel(Ns start, Ns duration, uint32_t stream = 7) {
    return add("gemm", start, duration, Lane::gpu_compute, stream);
  }
  Trace& nccl(Ns start, Ns duration) {
    return add("ncclDevKernel_AllReduce", start, duration, Lane::gpu_collective, 20);
  }
  Trace& copy(std::string_view op, Ns start, Ns duration, int64_t bytes) {
    return add(op, start, duration, Lane::gpu_copy, 7, bytes);
  }
  Trace& steps(int count, Ns length) {
    for (int i = 0; i < count; ++i)
      main("ProfilerStep#" + std::to_string(10 + i), i * length, length);
    return *this;
  }
  Evidence evidence;

 private:
  Trace& add(std::string_view op, Ns start, Ns duration, Lane lane, uint32_t thread,
             int64_t bytes = -1) {
    const int32_t step =
        op.starts_with("ProfilerStep#") ? std::stoi(std::string(op.substr(13))) : -1;
    evidence.spans.append(rank_, step, kStart + start * kMs, duration * kMs,
                          evidence.names.intern(op), Phase::unexplained, lane, thread, bytes);
    return *this;
  }
  int32_t rank_;
};

// Milliseconds of a phase in a step; -1: not recorded.
Ns ms(const TraceSteps& t, size_t row, Phase phase) {
  const Ns value = t.steps.phase(row, phase);
  return value < 0 ? -1 : value / kMs;
}

void expect_sound(const TraceSteps& t) {
  for (size_t row = 0; row < t.steps.size(); ++row) {
    Ns sum = 0;
    for (size_t p = 0; p < kPhases; ++p) {
      const Ns v = t.steps.phase(row, static_cast<Phase>(p));
      if (v > 0) sum += v;
    }
    EXPECT_LE(sum, t.steps.duration[row]);
  }
}

constexpr std::string_view kSingle = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
constexpr std::string_view kMulti = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";

TEST(TraceSteps, NoStepsAreInventedWhereNothingRepeats) {
  const TraceSteps t =
      trace_steps(Trace().main("aten::mm", 0, 5).main("Optimizer.step#SGD.step", 6, 1).evidence);
  EXPECT_EQ(t.steps.size(), 0u);
  ASSERT_EQ(t.facts.size(), 1u);
  EXPECT_EQ(t.facts[0].steps, 0);
  EXPECT_FALSE(t.facts[0].has_gpu);
  EXPECT_TRUE(std::isnan(t.facts[0].productive_fraction));
  EXPECT_TRUE(trace_steps(Evidence{}).facts.empty());
}

// One step of a job on the CPU: 60 ms loading, forward with a pause in it, backward, optimizer.
TEST(TraceSteps, PhasesOfACpuStepAreExclusiveAndLeaveTheRestUnexplained) {
  Trace trace;
  trace.steps(1, 100).main(kSingle, 0, 60).main("aten::stack", 5, 10);
  trace.main("aten::linear", 62, 4)
      .main("aten::relu", 68, 2)
      .main("Optimizer.zero_grad#SGD.zero_grad", 71, 1);
  trace.main("autograd::engine::evaluate_function: MulBackward0", 75, 10)
      .main("Optimizer.step#SGD.step", 86, 4);
  trace.main("aten::item", 92, 3);
  const TraceSteps t = trace_steps(trace.evidence);
  ASSERT_EQ(t.steps.size(), 1u);
  EXPECT_EQ(t.steps.step[0], 10);
  EXPECT_EQ(t.steps.start[0], kStart);
  EXPECT_EQ(ms(t, 0, Phase::input_wait), 60);
  EXPECT_EQ(ms(t, 0, Phase::forward), 12)
      << "from the first operation to backward, zero_grad taken out";
  EXPECT_EQ(ms(t, 0, Phase::backward), 10);
  EXPECT_EQ(ms(t, 0, Phase::optimizer), 5);
  EXPECT_EQ(ms(t, 0, Phase::host), 3);
  EXPECT_EQ(ms(t, 0, Phase::checkpoint), -1);
  expect_sound(t);
  EXPECT_TRUE(t.facts[0].loader_in_main_thread);
  EXPECT_FALSE(t.facts[0].loader_workers_seen);
  EXPECT_DOUBLE_EQ(t.facts[0].loader_main_thread_s, 0.060);
  EXPECT_DOUBLE_EQ(t.facts[0].item_calls_per_step, 1);
}

TEST(TraceSteps, BackwardOnTheAutogradThreadIsTheTrainingThreadsWait) {
  Trace trace;
  trace.steps(1, 100).main(kMulti, 0, 2).main("aten::linear", 10, 20);
  trace.autograd(32, 10).autograd(45, 15).main("Optimizer.step#Adam.step", 62, 8);
  const TraceSteps t = trace_steps(trace.evidence);
  ASSERT_EQ(t.steps.size(), 1u);
  EXPECT_EQ(ms(t, 0, Phase::forward), 22);
  EXPECT_EQ(ms(t, 0, Phase::backward), 28) << "one run: the training thread did nothing between";
  EXPECT_EQ(ms(t, 0, Phase::optimizer), 8);
  EXPECT_TRUE(t.facts[0].loader_workers_seen);
  EXPECT_DOUBLE_EQ(t.facts[0].loader_wait_s, 0.002);
}

TEST(TraceSteps, AnIdleDeviceWhileTheHostLaunchesIsHostTime) {
  Trace trace;
  trace.steps(2, 50);
  for (const Ns at : {0, 50}) {
    trace.main("aten::linear", at + 5, 20)
        .autograd(at + 25, 15)
        .main("Optimizer.step#SGD.step", at + 40, 5);
    trace.kernel(at + 10, 10)
        .kernel(at + 15, 10, 8)
        .kernel(at + 30, 10)
        .copy("Memset (Device)", at + 42, 1, -1);
  }
  const TraceSteps t = trace_steps(trace.evidence);
  ASSERT_EQ(t.steps.size(), 2u);
  for (size_t row = 0; row < 2; ++row) {
    EXPECT_EQ(ms(t, row, Phase::forward), 15) << "overlapping streams count once";
    EXPECT_EQ(ms(t, row, Phase::backward), 10);
    EXPECT_EQ(ms(t, row, Phase::optimizer), 1);
    EXPECT_EQ(ms(t, row, Phase::host), 14);
  }
  EXPECT_DOUBLE_EQ(t.facts[0].productive_fraction, 0.5);
  EXPECT_DOUBLE_EQ(t.facts[0].gpu_busy_fraction, 0.52);
  EXPECT_DOUBLE_EQ(t.facts[0].launch_gap_s, 0.014);
  EXPECT_DOUBLE_EQ(t.facts[0].kernels_per_step, 3);
  EXPECT_DOUBLE_EQ(t.facts[0].median_kernel_s, 0.010);
  EXPECT_DOUBLE_EQ(t.facts[0].copies_per_step, 0);
}

TEST(TraceSteps, WaitingForTheDeviceCountsAsWhatTheDeviceDoes) {
  Trace trace;
  trace.steps(1, 100)
      .main("aten::linear", 0, 10)
      .autograd(10, 10)
      .main("Optimizer.step#SGD.step", 20, 5);
  trace.main("cudaDeviceSynchronize", 30, 60)
      .kernel(0, 50)
      .nccl(45, 25)
      .copy("Memcpy HtoD (Pageable -> Device)", 72, 8, 100);
  const TraceSteps t = trace_steps(trace.evidence);
  ASSERT_EQ(t.steps.size(), 1u);
  EXPECT_EQ(ms(t, 0, Phase::optimizer), 30)
      << "5 of its own, 5 and 20 while kernels still ran behind it";
  EXPECT_EQ(ms(t, 0, Phase::collective), 20);
  EXPECT_EQ(ms(t, 0, Phase::h2d), 8);
  EXPECT_EQ(ms(t, 0, Phase::host), 12);
  EXPECT_DOUBLE_EQ(t.facts[0].sync_s, 0.060);
  EXPECT_DOUBLE_EQ(t.facts[0].collective_kernel_s, 0.025);
  EXPECT_DOUBLE_EQ(t.facts[0].collective_exposed_s, 0.020);
  EXPECT_DOUBLE_EQ(t.facts[0].h2d_bytes, 100);
  EXPECT_TRUE(t.facts[0].h2d_pageable);
  expect_sound(t);
}

TEST(TraceSteps, LoadingStaysInputWaitWhateverTheDeviceDoes) {
  Trace trace;
  trace.steps(2, 100);
  for (const Ns at : {0, 100})
    trace.main(kSingle, at, 70)
        .main("aten::linear", at + 70, 30)
        .kernel(at, 40)
        .kernel(at + 80, 20);
  const TraceSteps t = trace_steps(trace.evidence);
  ASSERT_EQ(t.steps.size(), 2u);
  EXPECT_EQ(ms(t, 0, Phase::input_wait), 70);
  EXPECT_EQ(ms(t, 1, Phase::input_wait), 70);
  EXPECT_DOUBLE_EQ(t.facts[0].productive_fraction, 0.6);
  EXPECT_DOUBLE_EQ(t.facts[0].loader_main_thread_s, 0.070);
}

TEST(TraceSteps, AnnotationsOfSeveralStylesDoNotDouble) {
  Trace trace;
  trace.steps(1, 100).main("## load_batch ##", 0, 10).main(kMulti, 1, 8);
  trace.main("## forward ##", 10, 30)
      .main("DistributedDataParallel.forward", 12, 20)
      .main("aten::linear", 14, 5);
  trace.main("## backward ##", 40, 30).autograd(42, 20).main("## optimizer ##", 70, 20);
  trace.main("Optimizer.step#Adam.step", 72, 10)
      .main("save_checkpoint", 90, 5)
      .main("gc.collect", 95, 5);
  const TraceSteps t = trace_steps(trace.evidence);
  ASSERT_EQ(t.steps.size(), 1u);
  EXPECT_EQ(ms(t, 0, Phase::input_wait), 10);
  EXPECT_EQ(ms(t, 0, Phase::forward), 30);
  EXPECT_EQ(ms(t, 0, Phase::backward), 30);
  EXPECT_EQ(ms(t, 0, Phase::optimizer), 20);
  EXPECT_EQ(ms(t, 0, Phase::checkpoint), 5);
  EXPECT_EQ(ms(t, 0, Phase::gc), 5);
  EXPECT_DOUBLE_EQ(t.facts[0].gc_s, 0.005);
}

TEST(TraceSteps, GlooIsExposedWhereNoBackwardNodeRuns) {
  Trace trace;
  trace.steps(1, 100).main("aten::linear", 0, 20).autograd(20, 30).autograd(70, 10);
  trace.other("gloo:all_reduce", 40, 30).main("Optimizer.step#SGD.step", 82, 10);
  const TraceSteps t = trace_steps(trace.evidence);
  ASSERT_EQ(t.steps.size(), 1u);
  EXPECT_EQ(ms(t, 0, Phase::collective), 20);
  EXPECT_EQ(ms(t, 0, Phase::backward), 40);
}

TEST(TraceSteps, AStepThatTheProfilerCutIsLeftOut) {
  Trace trace;
  trace.steps(3, 100);
  for (const Ns at : {0, 100})
    trace.main("aten::linear", at + 5, 50).main("Optimizer.step#SGD.step", at + 80, 5);
  trace.main("aten::linear", 205, 10);
  EXPECT_EQ(trace_steps(trace.evidence).steps.size(), 2u);
}

TEST(TraceSteps, RepeatingOptimizerStepsMarkStepsWhenNothingElseDoes) {
  Trace trace;
  for (Ns i = 0; i < 4; ++i)
    trace.main(kMulti, i * 50, 5)
        .main("aten::linear", i * 50 + 10, 20)
        .main("Optimizer.step#SGD.step", i * 50 + 40, 8);
  const TraceSteps t = trace_steps(trace.evidence);
  ASSERT_EQ(t.steps.size(), 3u);
  EXPECT_EQ(t.steps.duration[0], 50 * kMs);
  EXPECT_EQ(t.steps.start[0], kStart + 48 * kMs);
  EXPECT_EQ(ms(t, 1, Phase::input_wait), 5);
  EXPECT_EQ(ms(t, 1, Phase::optimizer), 8);
}

TEST(TraceSteps, NestedAndRepeatedStepMarkersCountOnce) {
  Trace trace;
  trace.steps(2, 100)
      .main("ProfilerStep#10", 20, 30)
      .main("train_step 1", 0, 90)
      .main("train_step 2", 100, 90);
  const TraceSteps t = trace_steps(trace.evidence);
  ASSERT_EQ(t.steps.size(), 2u);
  EXPECT_EQ(t.steps.duration[0], 100 * kMs);
  Trace own;
  for (Ns i = 0; i < 3; ++i)
    own.main("train_step " + std::to_string(i + 5), i * 100, 90).main("step", i * 100 + 10, 20);
  const TraceSteps o = trace_steps(own.evidence);
  ASSERT_EQ(o.steps.size(), 3u);
  EXPECT_EQ(o.steps.step[2], 7);
  EXPECT_EQ(o.steps.duration[2], 90 * kMs);
}

TEST(TraceSteps, OrderOfTheRowsDoesNotMatter) {
  Trace trace;
  trace.steps(2, 100);
  for (const Ns at : {0, 100})
    trace.main(kSingle, at, 40)
        .main("aten::linear", at + 45, 10)
        .autograd(at + 60, 20)
        .kernel(at + 50, 25)
        .main("Optimizer.step#SGD.step", at + 85, 10);
  const TraceSteps forward = trace_steps(trace.evidence);
  auto& s = trace.evidence.spans;
  const auto turn = [](auto& column) { std::reverse(column.begin(), column.end()); };
  turn(s.start), turn(s.duration), turn(s.rank), turn(s.step), turn(s.op), turn(s.phase),
      turn(s.lane), turn(s.thread), turn(s.bytes);
  const TraceSteps backward = trace_steps(trace.evidence);
  ASSERT_EQ(forward.steps.size(), backward.steps.size());
  for (size_t row = 0; row < forward.steps.size(); ++row)
    for (size_t p = 0; p < kPhases; ++p)
      EXPECT_EQ(forward.steps.phase(row, static_cast<Phase>(p)),
                backward.steps.phase(row, static_cast<Phase>(p)));
}

TEST(TraceSteps, HostileTimesDoNotOverflow) {
  Evidence e;
  const NameId step = e.names.intern("ProfilerStep#1"), op = e.names.intern("aten::mm"),
               next = e.names.intern(kMulti);
  for (const Ns start : {INT64_MIN + 1, INT64_MAX / 2, INT64_MAX - 5, Ns{0}})
    for (const Ns duration : {Ns{0}, INT64_MAX / 2, INT64_MAX}) {
      e.spans.append(0, 1, start, duration, step, Phase::unexplained, Lane::main_thread, 1);
      e.spans.append(0, -1, start, duration, op, Phase::unexplained, Lane::main_thread, 1);
      e.spans.append(0, -1, start, duration, next, Phase::input_wait, Lane::host_thread, 1);
      e.spans.append(0, -1, start, duration, op, Phase::unexplained, Lane::gpu_compute, 1);
    }
  trace_steps(e);
}

TEST(TraceSteps, WhatLiesBetweenTheStepsOfALoopBelongsToThem) {
  Trace t;
  for (int i = 0; i < 10; ++i) {
    t.main("ProfilerStep#" + std::to_string(10 + i), i * 1000, 300);
    t.main("Optimizer.step#SGD.step", i * 1000, 300);
    t.main("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", i * 1000 + 400, 500);
  }
  const TraceSteps steps = trace_steps(t.evidence);
  ASSERT_EQ(steps.steps.size(), 10U);
  EXPECT_EQ(steps.steps.duration[4], 1000 * kMs);
  EXPECT_EQ(ms(steps, 4, Phase::optimizer), 300);
  EXPECT_EQ(ms(steps, 4, Phase::input_wait), 500);
  EXPECT_EQ(steps.between[4], 200 * kMs);
  EXPECT_EQ(steps.steps.duration[9], 300 * kMs);  // nothing tells when the next one begins
  EXPECT_EQ(steps.between[9], 0);
  expect_sound(steps);
}

TEST(TraceSteps, StepsThatWereNotProfiledAreNoTimeBetweenSteps) {
  Trace t;
  for (int i = 0; i < 10; ++i)
    t.main("ProfilerStep#" + std::to_string(10 * i), i * 1000, 100).main("aten::add", i * 1000, 90);
  const TraceSteps steps = trace_steps(t.evidence);
  ASSERT_EQ(steps.steps.size(), 10U);
  for (const Ns duration : steps.steps.duration) EXPECT_EQ(duration, 100 * kMs);
}

TEST(TraceSteps, StepsThatOverlapLastUntilTheNextBegins) {
  for (const Ns lasting : {1500 * kMs, 1000 * kMs + 1000}) {  // pipelined; rounded to microseconds
    Evidence evidence;
    const NameId op = evidence.names.intern("forward");
    for (int32_t s = 0; s < 20; ++s)
      evidence.spans.append(0, s, kStart + s * 1000 * kMs, lasting, op, Phase::forward,
                            Lane::main_thread, 1);
    const TraceSteps steps = trace_steps(evidence);
    ASSERT_EQ(steps.steps.size(), 20U);
    for (size_t row = 0; row < 19; ++row) {
      EXPECT_EQ(steps.steps.duration[row], 1000 * kMs);
      EXPECT_EQ(ms(steps, row, Phase::forward), 1000);
    }
  }
}

// Rows of a bundle: they carry their step and need not name the thread.
void row(Evidence& e, int32_t step, Phase phase, Ns start, Ns duration) {
  e.spans.append(0, step, kStart + start * kMs, duration * kMs, e.names.intern(name(phase)), phase,
                 Lane::main_thread, 1);
}

TEST(TraceSteps, OfCommunicationBesideComputingOnlyTheExposedPartCounts) {
  Evidence e;
  for (int32_t s = 0; s < 20; ++s) {
    row(e, s, Phase::forward, s * 1000, 300);
    row(e, s, Phase::backward, s * 1000 + 300, 500);
    row(e, s, Phase::collective, s * 1000 + 400, 200);  // the first bucket
    row(e, s, Phase::collective, s * 1000 + 600, 350);  // the last one ends behind backward
    row(e, s, Phase::optimizer, s * 1000 + 950, 50);
  }
  const TraceSteps t = trace_steps(e);
  ASSERT_EQ(t.steps.size(), 20U);
  EXPECT_EQ(ms(t, 5, Phase::backward), 500);
  EXPECT_EQ(ms(t, 5, Phase::collective), 150);
  EXPECT_EQ(ms(t, 5, Phase::optimizer), 50);
  expect_sound(t);
}

TEST(TraceSteps, CommunicationThatTheNextStepComputesBesideIsHidden) {
  Evidence e;
  for (int32_t s = 0; s < 20; ++s) {
    row(e, s, Phase::backward, s * 1000, 900);
    row(e, s, Phase::collective, s * 1000 + 900, 800);  // 700 of them into the next step
  }
  const TraceSteps t = trace_steps(e);
  ASSERT_EQ(t.steps.size(), 20U);
  EXPECT_EQ(ms(t, 5, Phase::backward), 900);
  EXPECT_EQ(ms(t, 5, Phase::collective), 100);
}

TEST(TraceSteps, OverlappingCommunicationAloneTellsNothingOfTheTrainingThread) {
  Evidence e;
  for (int32_t s = 0; s < 20; ++s) row(e, s, Phase::collective, s * 1000, 1500);
  const TraceSteps t = trace_steps(e);
  ASSERT_EQ(t.steps.size(), 20U);
  EXPECT_EQ(t.steps.duration[5], 1000 * kMs);
  EXPECT_EQ(ms(t, 5, Phase::collective), -1);
}

TEST(TraceSteps, ACollectiveThatTheTrainingThreadCallsIsItsOwnTime) {
  Evidence e;
  for (int32_t s = 0; s < 20; ++s) {
    row(e, s, Phase::backward, s * 1000, 800);
    row(e, s, Phase::collective, s * 1000 + 500, 200);  // called within backward
    row(e, s, Phase::optimizer, s * 1000 + 800, 200);
  }
  const TraceSteps t = trace_steps(e);
  EXPECT_EQ(ms(t, 5, Phase::backward), 600);
  EXPECT_EQ(ms(t, 5, Phase::collective), 200);
}

TEST(TraceSteps, ARankWhoseRowsLastNoTimeHasSteps) {
  Evidence e;
  for (int32_t s = 0; s < 20; ++s) row(e, s, Phase::collective, s * 1000, 0);
  const TraceSteps t = trace_steps(e);
  ASSERT_EQ(t.steps.size(), 19U);  // nothing tells when the last one ends
  EXPECT_EQ(t.steps.duration[5], 1000 * kMs);
}

}  // namespace
}  // namespace firstwait
