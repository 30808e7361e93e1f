#include <gtest/gtest.h>

#include "explain/placing.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_network_traffic_imbalance;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_network_traffic_imbalance.test(b.view()); }

ViewBuilder rails(double first, double others) {
  ViewBuilder b(false);
  b.phase(Phase::collective, 0.5, 0);
  for (const char* d : {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"}) {
    const double r = std::string_view(d) == "mlx5_0" ? first : others;
    b.counter("node_infiniband_port_data_transmitted_bytes_total", "host/a", r, r,
              {{"device", d}, {"port", "1"}});
    b.gauge("node_infiniband_rate_bytes_per_second", "host/a", 25e9, 25e9,
            {{"device", d}, {"port", "1"}});
  }
  return b;
}

TEST(NetworkTrafficImbalance, OneBusyRailIsAccused) {
  const auto v = test(rails(24e9, 1e9));
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_EQ(v.where.front(), "nic/a:mlx5_0");
}

TEST(NetworkTrafficImbalance, EvenRailsAreRefuted) {
  EXPECT_EQ(test(rails(10e9, 9e9)).outcome, Outcome::refuted);
}

TEST(NetworkTrafficImbalance, UnevenButIdlePortsLimitNothing) {
  EXPECT_EQ(test(rails(2e9, 0.1e9)).outcome, Outcome::refuted);
}

TEST(NetworkTrafficImbalance, OnePortIsUntested) {
  ViewBuilder b;
  EXPECT_EQ(test(b.phase(Phase::collective, 0.5, 0.1)).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
