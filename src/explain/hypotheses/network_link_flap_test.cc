#include <gtest/gtest.h>

#include "explain/placing.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_network_link_flap;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_network_link_flap.test(b.view()); }

ViewBuilder job() {
  ViewBuilder b;
  b.phase(Phase::collective, 0.5, 0.1);
  return b;
}

TEST(NetworkLinkFlap, LinksLostAgainAndAgainAreAccused) {
  const auto v = test(job()
                          .event("link_down", "nic/a:eth0", 1)
                          .event("link_up", "nic/a:eth0", 5)
                          .event("link_down", "nic/a:eth0", 60));
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.because, "a:eth0 lost its link 2 times");
  EXPECT_EQ(v.where.front(), "nic/a:eth0");
}

TEST(NetworkLinkFlap, ALossLongBeforeIsNotCounted) {
  EXPECT_EQ(test(job().event("link_down", "nic/a:eth0", -500)).outcome, Outcome::refuted);
}

TEST(NetworkLinkFlap, AQuietCounterRefutes) {
  EXPECT_EQ(test(job().counter("node_network_carrier_changes_total", "host/a", 0, 0,
                               {{"device", "eth0"}}))
                .outcome,
            Outcome::refuted);
}

TEST(NetworkLinkFlap, ContainerInterfacesComeAndGo) {
  EXPECT_EQ(test(job().counter("node_network_carrier_changes_total", "host/a", 0, 1,
                               {{"device", "veth12ab"}}))
                .outcome,
            Outcome::untested);
}

TEST(NetworkLinkFlap, ALossWithoutSlowerCommunicationIsNotTheCause) {
  ViewBuilder b;
  b.phase(Phase::forward, 0.5, 0.1)
      .phase(Phase::collective, 0.01, 0.01)
      .event("link_down", "nic/a:eth0", 1);
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

}  // namespace
}  // namespace firstwait
