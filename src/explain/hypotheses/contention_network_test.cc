#include <gtest/gtest.h>

#include "explain/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_contention_network;
namespace {

// One case in the words of tests/cases.
Verdict test(const std::string& text) {
  const auto cases = read_cases("case\n" + text, "");
  EXPECT_TRUE(cases.at(0).errors.empty());
  return hypothesis_contention_network.test(cases.at(0).evidence->view());
}

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
