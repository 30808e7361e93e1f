#include "collect/processes.h"
#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_cgroup;
namespace {

// One trainer whose cgroup file says `cgroup`.
std::map<std::string, double> sample(Tree& tree, const std::string& cgroup) {
  tree.file("proc/11/stat",
            "11 (python3) S 1 1 1 0 -1 0 1 0 7 0 1 5 0 0 20 0 1 0 5000 1000000 250 0 0 0 0 0 0 0 0 "
            "0 0 0 0 0 0 0 0 0 0 0 0\n")
      .file("proc/11/cmdline", "python3")
      .file("proc/11/environ", std::string("RANK=0\0WORLD_SIZE=1\0", 20))
      .file("proc/11/cgroup", cgroup);
  auto processes = std::make_shared<Processes>();
  processes->search(Root::at(tree.path()));
  Bench bench(collector_cgroup, World{Root::at(tree.path()), "node01", "", processes});
  return bench.sample();
}

TEST(Cgroup, TheTightestQuotaOfTheUnifiedHierarchyAndItsThrottling) {
  Tree tree;
  const std::string at = "sys/fs/cgroup/slurm/job_7/";
  tree.file(at + "step_0/cpu.max", "max 100000\n")
      .file(at + "step_0/cpu.stat",
            "usage_usec 5\nnr_periods 1\nnr_throttled 0\nthrottled_usec 0\n")
      .file(at + "cpu.max", "150000 100000\n")
      .file(at + "cpu.stat",
            "usage_usec 5\nnr_periods 46\nnr_throttled 44\nthrottled_usec 3280000\n")
      .file(at + "step_0/memory.max", "max\n")
      .file(at + "memory.max", "67108864\n")
      .file(at + "step_0/memory.current", "1024\n")
      .file(at + "step_0/memory.events", "low 0\noom 2\noom_kill 1\n")
      .file(
          at + "step_0/io.pressure",
          "some avg10=0.00 avg60=0.00 avg300=0.00 total=5400000\nfull avg10=0.00 total=1000000\n");
  auto got = sample(tree, "0::/slurm/job_7/step_0\n");
  const std::string l = "{cgroup=\"/slurm/job_7/step_0\",rank=\"0\"}";
  EXPECT_EQ(got.at("firstwait_cgroup_cpu_quota_cores" + l), 1.5);
  EXPECT_EQ(got.at("firstwait_cgroup_cpu_throttled_seconds_total" + l), 3.28);
  EXPECT_EQ(got.at("firstwait_cgroup_cpu_throttled_periods_total" + l), 44);
  EXPECT_EQ(got.at("firstwait_cgroup_memory_limit_bytes" + l), 67108864);
  EXPECT_EQ(got.at("firstwait_cgroup_oom_kills_total" + l), 1);
  EXPECT_EQ(got.at("firstwait_cgroup_pressure_waiting_seconds_total{cgroup=\"/slurm/job_7/"
                   "step_0\",rank=\"0\",resource=\"io\"}"),
            5.4);
  EXPECT_EQ(got.at("firstwait_cgroup_pressure_stalled_seconds_total{cgroup=\"/slurm/job_7/"
                   "step_0\",rank=\"0\",resource=\"io\"}"),
            1);
}

TEST(Cgroup, VersionOneWithPressureBesideIt) {
  Tree tree;
  tree.file("sys/fs/cgroup/cpu,cpuacct/r1/cpu.cfs_quota_us", "20000\n")
      .file("sys/fs/cgroup/cpu,cpuacct/r1/cpu.cfs_period_us", "100000\n")
      .file("sys/fs/cgroup/cpu,cpuacct/r1/cpu.stat",
            "nr_periods 46\nnr_throttled 44\nthrottled_time 3280000000\n")
      .file("sys/fs/cgroup/memory/r1/memory.limit_in_bytes", "9223372036854771712\n")
      .file("sys/fs/cgroup/memory/r1/memory.usage_in_bytes", "4096\n")
      .file("sys/fs/cgroup/unified/r1/cpu.pressure",
            "some avg10=20.50 avg60=0.00 avg300=0.00 total=3600000\n");
  auto got = sample(tree, "4:cpu,cpuacct:/r1\n3:memory:/r1\n0::/r1\n");
  EXPECT_EQ(got.at("firstwait_cgroup_cpu_quota_cores{cgroup=\"/r1\",rank=\"0\"}"), 0.2);
  EXPECT_EQ(got.at("firstwait_cgroup_cpu_throttled_seconds_total{cgroup=\"/r1\",rank=\"0\"}"),
            3.28);
  EXPECT_EQ(got.count("firstwait_cgroup_memory_limit_bytes{cgroup=\"/r1\",rank=\"0\"}"), 0u)
      << "no limit is no number";
  EXPECT_EQ(got.at("firstwait_cgroup_memory_usage_bytes{cgroup=\"/r1\",rank=\"0\"}"), 4096);
  EXPECT_EQ(got.at("firstwait_cgroup_pressure_waiting_seconds_total{cgroup=\"/"
                   "r1\",rank=\"0\",resource=\"cpu\"}"),
            3.6);
}

TEST(Cgroup, WithoutAQuotaNoneIsInvented) {
  Tree tree;
  tree.file("sys/fs/cgroup/a/cpu.max", "max 100000\n")
      .file("sys/fs/cgroup/a/memory.current", "1\n");
  auto got = sample(tree, "0::/a\n");
  EXPECT_EQ(got.count("firstwait_cgroup_cpu_quota_cores{cgroup=\"/a\",rank=\"0\"}"), 0u);
}

TEST(Cgroup, HostileContentIsSurvived) {
  Tree tree;
  tree.file("sys/fs/cgroup/a/cpu.max", "9223372036854775807 1\n")
      .file("sys/fs/cgroup/a/cpu.stat", "throttled_usec 9223372036854775807\nnr_throttled x\n\n")
      .file("sys/fs/cgroup/a/io.pressure", "some total=\ntotal=1\n")
      .file("sys/fs/cgroup/a/memory.events", "oom_kill \n");
  sample(tree, "0::/a\n");
  sample(tree, "0::/../..\n:::::\n\n0::\n");
  sample(tree, std::string(70'000, ':'));
}

}  // namespace
}  // namespace firstwait
