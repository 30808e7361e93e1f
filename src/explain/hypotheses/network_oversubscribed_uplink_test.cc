#include <gtest/gtest.h>

#include "explain/placing.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_network_oversubscribed_uplink;
namespace {

Verdict test(const ViewBuilder& b) {
  return hypothesis_network_oversubscribed_uplink.test(b.view());
}

ViewBuilder job(const char* second_switch) {
  ViewBuilder b(false);
  b.phase(Phase::collective, 0.5, 0).rank(0, "a").rank(1, "b");
  b.evidence().relations.push_back({"host/a", "connects_to", "switch/leaf1", "test"});
  b.evidence().relations.push_back({"nic/b:eth0", "connects_to", second_switch, "test"});
  return b;
}

TEST(NetworkOversubscribedUplink, OneSwitchIsRefuted) {
  EXPECT_EQ(test(job("switch/leaf1")).reason,
            "all hosts of the job are on leaf1: no uplink is crossed");
}

TEST(NetworkOversubscribedUplink, OversubscribedUplinksAreAccused) {
  auto b = job("switch/leaf2");
  b.evidence().entities.push_back({"switch/leaf2", {{"oversubscription", "3:1"}}});
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.because, "the job crosses the uplinks of leaf2, oversubscribed 3.0 to 1");
}

TEST(NetworkOversubscribedUplink, SpreadAloneProvesNothing) {
  EXPECT_EQ(test(job("switch/leaf2")).outcome, Outcome::untested);
}

TEST(NetworkOversubscribedUplink, AMoveToTwoSwitchesAtTheOnsetIsAccused) {
  ViewBuilder b;
  b.phase(Phase::collective, 0.5, 0.1).rank(0, "a").rank(1, "b");
  b.evidence().relations.push_back({"host/a", "connects_to", "switch/leaf1", "test"});
  b.evidence().relations.push_back(
      {"host/b", "connects_to", "switch/leaf1", "test", kNoTime, ViewBuilder::kOnset});
  b.evidence().relations.push_back(
      {"host/b", "connects_to", "switch/leaf2", "test", ViewBuilder::kOnset, kNoTime});
  EXPECT_EQ(test(b).outcome, Outcome::supported);
}

TEST(NetworkOversubscribedUplink, UnknownTopologyIsUntested) {
  ViewBuilder b;
  EXPECT_EQ(test(b.phase(Phase::collective, 0.5, 0.1)).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
