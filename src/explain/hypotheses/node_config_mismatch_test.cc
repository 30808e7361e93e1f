#include <gtest/gtest.h>

#include "explain/placing.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_node_config_mismatch;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_node_config_mismatch.test(b.view()); }

ViewBuilder hosts(std::initializer_list<const char*> mtus) {
  ViewBuilder b(false);
  b.phase(Phase::collective, 0.5, 0);
  int n = 0;
  for (const char* mtu : mtus) {
    const std::string h(1, static_cast<char>('a' + n));
    b.rank(n++, h);
    b.setting("nic/" + h + ":eth0", "nic.mtu", mtu);
  }
  return b;
}

TEST(NodeConfigMismatch, TheOddHostThatIsSlowIsAccused) {
  auto b = hosts({"9000", "1500", "9000", "9000"});
  b.attribution().rank_stats.push_back({.rank = 1, .ratio_to_peers = 1.5});
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_GE(v.llr, kStrong);
  EXPECT_EQ(v.because, "b has nic.mtu of eth0 1500, 3 hosts have 9000");
  EXPECT_EQ(v.where.front(), "host/b");
}

TEST(NodeConfigMismatch, AnOddHostAloneIsWeak) {
  EXPECT_LE(test(hosts({"9000", "1500", "9000", "9000"})).llr, kWeak);
}

TEST(NodeConfigMismatch, AnOddHostThatIsNotTheSlowOneIsRefuted) {
  auto b = hosts({"9000", "1500", "9000", "9000"});
  b.attribution().rank_stats.push_back({.rank = 2, .ratio_to_peers = 1.5});
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(NodeConfigMismatch, TwoHostsDifferAndNobodyIsNamed) {
  const auto v = test(hosts({"9000", "1500"}));
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_LT(v.llr, kWeak);
  EXPECT_TRUE(v.where.empty());
  EXPECT_TRUE(v.because.starts_with("hosts differ"));
}

TEST(NodeConfigMismatch, EqualHostsAreRefuted) {
  EXPECT_EQ(test(hosts({"9000", "9000"})).reason, "1 settings are equal on all 2 hosts");
}

TEST(NodeConfigMismatch, OneHostIsUntested) {
  EXPECT_EQ(test(hosts({"9000"})).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
