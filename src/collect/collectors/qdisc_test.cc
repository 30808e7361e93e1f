#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_qdisc;
namespace {

TEST(Qdisc, TheKernelOfThisMachineIsAskedAndItsQueuesHaveADeviceAndAKind) {
  Bench bench(collector_qdisc, World{});
  auto got = bench.sample();
  EXPECT_NE(bench.presence(), Presence::broken);
  if (got.empty()) GTEST_SKIP() << "no card with a queue here";
  for (const auto& [key, value] : got) {
    EXPECT_NE(key.find("{device=\""), std::string::npos) << key;
    EXPECT_GE(value, 0) << key;
  }
}

TEST(Qdisc, ARecordedTreeHasNone) {
  Tree tree;
  Bench bench(collector_qdisc, tree);
  bench.sample();
  EXPECT_EQ(bench.presence(), Presence::absent);
}

}  // namespace
}  // namespace firstwait
