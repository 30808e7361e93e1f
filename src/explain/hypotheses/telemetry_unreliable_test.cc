#include <gtest/gtest.h>

#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_telemetry_unreliable;
namespace {

constexpr HealthCounter kLost{"truncated", Severity::data_loss, "copy it again"};

Verdict test(const ViewBuilder& b) { return hypothesis_telemetry_unreliable.test(b.view()); }

ViewBuilder two_ranks() {
  ViewBuilder b;
  auto& a = b.attribution();
  a.steps.step.resize(200);
  a.steps.time.resize(200, 100);
  a.ranks.ranks = {0, 1};
  a.ranks.steps = 200;
  a.ranks.step_time.assign(400, 100);
  return b;
}

TEST(TelemetryUnreliable, RankThatFellSilent) {
  auto b = two_ranks();
  for (size_t i = 300; i < 400; ++i) b.attribution().ranks.step_time[i] = kNoDuration;
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.because, "1 of 2 ranks send no step times any more");
}

TEST(TelemetryUnreliable, SeriesThatEnded) {
  auto b = two_ranks();
  b.gauge("m", "host/a", 1, 1);
  auto& s = b.evidence().series[0];
  s.time.resize(30);
  s.value.resize(30);
  EXPECT_EQ(test(b).outcome, Outcome::supported);
}

TEST(TelemetryUnreliable, CompleteDataRefutes) {
  auto b = two_ranks();
  b.gauge("m", "host/a", 1, 1);
  const auto v = test(b);
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_EQ(v.reason, "0 of 1 series are stale, no source lost data");
}

TEST(TelemetryUnreliable, DamagedFileAloneAccusesNothing) {
  auto b = two_ranks();
  b.evidence().health.add("trace.json", kLost);
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

TEST(TelemetryUnreliable, ReplayThatMissesTheStepTime) {
  auto b = two_ranks();
  b.attribution().replay_error = 0.2;
  EXPECT_EQ(test(b).outcome, Outcome::supported);
}

TEST(TelemetryUnreliable, NothingFromNothing) {
  EXPECT_EQ(test(ViewBuilder()).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
