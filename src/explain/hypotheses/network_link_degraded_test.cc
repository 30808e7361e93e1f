#include <gtest/gtest.h>

#include "explain/placing.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_network_link_degraded;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_network_link_degraded.test(b.view()); }

ViewBuilder hosts(double first, double others) {
  ViewBuilder b(false);
  b.phase(Phase::collective, 0.5, 0);
  for (const char* h : {"a", "b", "c"}) {
    const double v = *h == 'a' ? first : others;
    b.gauge("node_network_speed_bytes", std::string("host/") + h, v, v, {{"device", "eth0"}});
    b.gauge("node_network_speed_bytes", std::string("host/") + h, 125e6, 125e6,
            {{"device", "mgmt"}});
  }
  return b;
}

TEST(NetworkLinkDegraded, SlowerThanTheSamePortOfOtherHostsIsAccused) {
  const auto v = test(hosts(12.5e9, 25e9));
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.where.front(), "nic/a:eth0");
  EXPECT_EQ(v.because, "a:eth0 runs at 100 Gbit/s, the same port of 2 other hosts at 200 Gbit/s");
  EXPECT_NEAR(v.effect->interval.hi, 0.25, 1e-9);
}

TEST(NetworkLinkDegraded, ASlowManagementPortIsNotADataPort) {
  EXPECT_EQ(test(hosts(25e9, 25e9)).outcome, Outcome::refuted);
}

TEST(NetworkLinkDegraded, AFallAtTheOnsetIsVeryStrong) {
  ViewBuilder b;
  b.phase(Phase::collective, 0.5, 0.1)
      .gauge("node_infiniband_rate_bytes_per_second", "host/a", 25e9, 12.5e9,
             {{"device", "mlx5_0"}});
  EXPECT_GE(test(b).llr, kVeryStrong);
}

TEST(NetworkLinkDegraded, OnePortAloneCannotBeJudged) {
  ViewBuilder b(false);
  b.phase(Phase::collective, 0.5, 0)
      .gauge("node_network_speed_bytes", "host/a", 1e9, 1e9, {{"device", "eth0"}});
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

TEST(NetworkLinkDegraded, TwoHostsThatDifferDoNotSayWhichIsWrong) {
  ViewBuilder b(false);
  b.phase(Phase::collective, 0.5, 0);
  b.setting("nic/a:eth0", "nic.speed", "100").setting("nic/b:eth0", "nic.speed", "200");
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
