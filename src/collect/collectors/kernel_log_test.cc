#include <fstream>
#include <sstream>

#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_kernel_log;
namespace {

constexpr const char* kText =
    "4,100,5000000,-;NVRM: Xid (PCI:0000:9b:00): 119, pid=2024380, name=python3, Timeout after 6s "
    "of waiting for RPC\n"
    " SUBSYSTEM=pci\n"
    "6,101,6000000,-;mlx5_core 0000:3b:00.0 eth0: Link down\n"
    "6,102,7000000,-;systemd[1]: Started something.\n";

TEST(KernelLog, FaultsAreEventsWithTheirTimeAndDevice) {
  Tree tree;
  tree.file("dev/kmsg", kText);
  Bench bench(collector_kernel_log, tree);
  auto got = bench.sample();
  EXPECT_EQ(got.at("firstwait_kernel_faults_total{kind=\"xid\"}"), 1);
  EXPECT_EQ(got.at("firstwait_kernel_faults_total{kind=\"link_down\"}"), 1);
  const auto events = bench.sampler().store().events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].entity, "gpu/node01:0000:9b:00");
  EXPECT_EQ(events[0].attribute("code"), "119");
  EXPECT_EQ(events[1].entity, "nic/node01:eth0");
  EXPECT_EQ(events[1].start - events[0].start, 1'000'000'000);
  EXPECT_EQ(bench.sample().at("firstwait_kernel_faults_total{kind=\"xid\"}"), 1) << "read once";
}

TEST(KernelLog, ARecordedXidIsFound) {
  const auto path = shared_data("node/gpud/dmesg-with-xid-119.log");
  if (!path) GTEST_SKIP() << "shared data is not here";
  // The log as the device would give it: without its calendar times.
  std::ifstream in(*path);
  std::string text, line;
  for (int n = 0; std::getline(in, line); ++n)
    if (const size_t close = line.find("] "); close != std::string::npos)
      text += "4," + std::to_string(n) + "," + std::to_string(n * 1000) + ",-;" +
              line.substr(close + 2) + "\n";
  Tree tree;
  tree.file("dev/kmsg", text);
  Bench bench(collector_kernel_log, tree);
  bench.sample();
  bool found = false;
  for (const Event& e : bench.sampler().store().events())
    found = found || (e.kind == "xid" && e.attribute("code") == "119" &&
                      e.entity == "gpu/node01:0000:9b:00");
  EXPECT_TRUE(found);
}

TEST(KernelLog, ADamagedLogIsSurvived) {
  Tree tree;
  tree.file("dev/kmsg", std::string(kText) + ",,,;;\n\n-1,x,99999999999999999999,-;y\n" +
                            std::string(20'000, 'z') + "\n;\n");
  Bench bench(collector_kernel_log, tree);
  bench.sample();
  EXPECT_EQ(bench.sampler().store().events().size(), 2u);
}

}  // namespace
}  // namespace firstwait
