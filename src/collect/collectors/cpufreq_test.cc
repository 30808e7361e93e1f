#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_cpufreq;
namespace {

TEST(Cpufreq, KilohertzAreHertz) {
  Tree tree;
  tree.file("sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq", "1699981\n")
      .file("sys/devices/system/cpu/cpu3/cpufreq/scaling_max_freq", "3700000\n")
      .file("sys/devices/system/cpu/cpu4/cpufreq/scaling_cur_freq", "<unknown>\n")
      .file("sys/devices/system/cpu/cpufreq/policy0/x", "1\n");
  auto got = Bench(collector_cpufreq, tree).sample();
  EXPECT_EQ(got.at("node_cpu_scaling_frequency_hertz{cpu=\"3\"}"), 1699981000);
  EXPECT_EQ(got.at("node_cpu_scaling_frequency_max_hertz{cpu=\"3\"}"), 3.7e9);
  EXPECT_EQ(got.size(), 2u);
}

}  // namespace
}  // namespace firstwait
