#include "explain/between_steps.h"

#include <gtest/gtest.h>

#include "attribute/attribute.h"

namespace firstwait {
namespace {

constexpr Ns kMs = 1'000'000, kStart = 1'700'000'000'000'000'000;

double between(const Evidence& evidence) {
  const Attribution a = attribute(evidence);
  return between_steps_s({evidence, a});
}

void add(Evidence& e, std::string_view op, int32_t step, Ns start, Ns duration,
         Phase phase = Phase::unexplained) {
  e.rank(0);
  e.spans.append(0, step, kStart + start * kMs, duration * kMs, e.names.intern(op), phase,
                 Lane::main_thread, 1);
}

TEST(BetweenSteps, SpansThatCarryTheirStepTellWhereItEnds) {
  Evidence e;
  for (int32_t s = 0; s < 100; ++s) {
    add(e, "forward", s, s * 1000, 100, Phase::forward);
    add(e, "backward", s, s * 1000 + 150, 150, Phase::backward);  // 50 ms within the step: not told
  }
  EXPECT_NEAR(between(e), 0.7, 0.01);
}

TEST(BetweenSteps, AProfilersMarksTellWhereAStepEnds) {
  Evidence e;
  for (int32_t s = 0; s < 100; ++s) {
    add(e, "ProfilerStep#" + std::to_string(s), s, s * 1000, 400);
    add(e, "Optimizer.step#SGD.step", -1, s * 1000, 300);
  }
  EXPECT_NEAR(between(e), 0.6, 0.01);
}

TEST(BetweenSteps, WhatAPhaseCoversThereIsExplained) {
  Evidence e;
  for (int32_t s = 0; s < 100; ++s) {
    add(e, "ProfilerStep#" + std::to_string(s), s, s * 1000, 400);
    add(e, "Optimizer.step#SGD.step", -1, s * 1000, 400);
    add(e, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", -1, s * 1000 + 400,
        600);
  }
  EXPECT_NEAR(between(e), 0, 0.001);
}

TEST(BetweenSteps, RowsTellByTheirOwnDuration) {
  Evidence e;
  for (int32_t s = 0; s < 100; ++s)
    e.steps.append(kNoName, 0, s, kStart + s * 1000 * kMs, 250 * kMs);
  e.rank(0);
  EXPECT_NEAR(between(e), 0.75, 0.01);
}

}  // namespace
}  // namespace firstwait
