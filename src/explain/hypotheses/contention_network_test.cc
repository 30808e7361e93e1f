#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_contention_network;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_contention_network, text); }

TEST(ContentionNetwork, PortsCarryMoreSinceANeighbourStarted) {
  const auto v = test(
      "phase collective 0.1 -> 0.3\n"
      "phase backward 0.1 -> 0.1\n"
      "counter node_network_transmit_bytes_total{device=eth0} host/a 1e9 -> 3e9\n"
      "event neighbour_start job/b -3\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
}

TEST(ContentionNetwork, PortsCarryLess) {
  const auto v = test(
      "phase collective 0.1 -> 0.3\n"
      "phase backward 0.1 -> 0.1\n"
      "counter node_network_transmit_bytes_total{device=eth0} host/a 3e9 -> 1e9\n"
      "event neighbour_start job/b -3\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(ContentionNetwork, CollectivesDidNotGrow) {
  const auto v = test(
      "phase collective 0.1 -> 0.1\n"
      "phase backward 0.1 -> 0.5\n"
      "counter node_network_transmit_bytes_total{device=eth0} host/a 1e9 -> 3e9\n"
      "event neighbour_start job/b -3\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(ContentionNetwork, WithoutNeighbours) {
  const auto v = test("phase collective 0.1 -> 0.3\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
