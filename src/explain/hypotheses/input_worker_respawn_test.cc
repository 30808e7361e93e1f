#include <gtest/gtest.h>

#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_input_worker_respawn;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_input_worker_respawn.test(b.view()); }

// Five epochs of 20 steps of 0.1 s; `slow` says which step of an epoch takes 1.5 s.
ViewBuilder epochs(int slow) {
  ViewBuilder b(false);
  auto& steps = b.evidence().steps;
  for (int32_t i = 0; i < 100; ++i) {
    const auto row =
        steps.append(kNoName, 0, i, kNoTime, i % 20 == slow ? 1'500'000'000 : 100'000'000);
    if (steps.epoch.size() < steps.size()) steps.epoch.resize(steps.size(), -1);
    steps.epoch[row] = i / 20;
  }
  return b;
}

TEST(InputWorkerRespawn, SlowFirstStepOfEachEpoch) {
  auto b = epochs(0);
  b.setting("job/j", "loader.persistent_workers", "False");
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_NEAR(v.effect->seconds_per_step, 4 * 1.4 / 100, 1e-6);
}

TEST(InputWorkerRespawn, PersistentWorkersRefute) {
  auto b = epochs(0);
  b.setting("job/j", "loader.persistent_workers", "True");
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(InputWorkerRespawn, SlowStepElsewhereInTheEpochRefutes) {
  EXPECT_EQ(test(epochs(7)).outcome, Outcome::refuted);
}

TEST(InputWorkerRespawn, UntestedWithoutEpochs) {
  EXPECT_EQ(test(ViewBuilder(false)).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
