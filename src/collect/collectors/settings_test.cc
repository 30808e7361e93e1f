#include "collect/processes.h"
#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_settings;
namespace {

using namespace std::string_literals;

constexpr const char* kStat =
    ") S 1 1 1 0 -1 0 1 0 7 0 1 5 0 0 20 0 1 0 5000 1000000 250 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
    "0 0 0\n";

struct Fake {
  Tree tree;
  std::shared_ptr<Processes> processes = std::make_shared<Processes>();
  std::unique_ptr<Bench> bench;

  void process(int pid, int parent, const std::string& allowed) {
    const std::string at = "proc/" + std::to_string(pid) + "/";
    tree.file(at + "stat", std::to_string(pid) + " (python3) S " + std::to_string(parent) +
                               std::string(kStat).substr(5))
        .file(at + "cmdline", "python3 train.py")
        .file(at + "environ",
              "RANK=3\0WORLD_SIZE=8\0OMP_NUM_THREADS=96\0NCCL_IB_DISABLE=1\0AWS_SECRET_ACCESS_KEY="
              "geheim\0SLURM_CPUS_PER_TASK=1\0"
              "NCCL_CONF_FILE=/home/me/x\0"s)
        .file(at + "status", "Name:\tpython3\nCpus_allowed:\tff\nCpus_allowed_list:\t" + allowed +
                                 "\nMems_allowed:\t1\n");
  }
  // "entity key" → value
  std::map<std::string, std::string> sample() {
    processes->search(Root::at(tree.path()));
    if (!bench)
      bench = std::make_unique<Bench>(collector_settings,
                                      World{Root::at(tree.path()), "node01", "", processes});
    bench->sample();
    std::map<std::string, std::string> out;
    for (const Setting& s : bench->sampler().store().settings())
      out[s.entity + " " + s.key] = s.value;
    return out;
  }
};

TEST(Settings, TheJobsOwnFactsByAnAllowList) {
  Fake f;
  f.process(100, 1, "0-7");
  auto got = f.sample();
  EXPECT_EQ(got.at("rank/3 cpu.affinity"), "0-7");
  EXPECT_EQ(got.at("rank/3 env.OMP_NUM_THREADS"), "96");
  EXPECT_EQ(got.at("rank/3 env.NCCL_IB_DISABLE"), "1");
  EXPECT_EQ(got.at("rank/3 slurm.cpus_per_task"), "1");
  EXPECT_EQ(got.at("rank/3 world_size"), "8");
  for (const auto& [key, value] : got) {
    EXPECT_EQ(key.find("SECRET"), std::string::npos);
    EXPECT_EQ(key.find("CONF_FILE"), std::string::npos);
    EXPECT_NE(value, "geheim");
  }
}

TEST(Settings, ALoaderThatIsConfinedBindsItsRank) {
  Fake f;
  f.process(100, 1, "0-7");
  f.process(101, 100, "0");
  EXPECT_EQ(f.sample().at("rank/3 cpu.affinity"), "0");
}

TEST(Settings, AChangeIsASecondRowAndTheSameValueIsNot) {
  Fake f;
  f.process(100, 1, "0-7");
  f.sample();
  const size_t before = f.bench->sampler().store().settings().size();
  f.sample();
  EXPECT_EQ(f.bench->sampler().store().settings().size(), before);
  f.process(100, 1, "0-3");
  f.process(102, 100, "0-3");  // the job changed, so it is read again
  f.processes->search(Root::at(f.tree.path()));
  EXPECT_EQ(f.sample().at("rank/3 cpu.affinity"), "0-3");
}

TEST(Settings, MachineNicsGpusAndMounts) {
  Fake f;
  f.tree.file("proc/sys/kernel/osrelease", "6.1.0\n")
      .file("sys/devices/system/cpu/online", "0-95\n")
      .file("sys/class/net/eth0/operstate", "up\n")
      .file("sys/class/net/eth0/mtu", "1500\n")
      .file("sys/class/net/eth0/speed", "100000\n")
      .file("sys/class/net/eth0/device/numa_node", "1\n")
      .file("sys/class/net/eth0/device/current_link_speed", "8.0 GT/s PCIe\n")
      .file("sys/class/net/eth0/device/max_link_speed", "16.0 GT/s PCIe\n")
      .file("sys/class/net/eth0/device/current_link_width", "8\n")
      .file("sys/class/net/eth1/operstate", "down\n")
      .file("sys/class/net/eth1/device/numa_node", "-1\n")
      .file("sys/bus/pci/devices/0000:9b:00.0/vendor", "0x10de\n")
      .file("sys/bus/pci/devices/0000:9b:00.0/class", "0x030200\n")
      .file("sys/bus/pci/devices/0000:9b:00.0/numa_node", "0\n")
      .file("proc/self/mountinfo",
            "194 21 0:42 / /data rw shared:144 - nfs4 nfs01:/export rw,vers=4.2,rsize=1048576\n21 "
            "1 8:1 / / rw - ext4 /dev/sda1 rw\n");
  auto got = f.sample();
  EXPECT_EQ(got.at("host/node01 kernel.version"), "6.1.0");
  EXPECT_EQ(got.at("host/node01 cpu.count"), "96");
  EXPECT_EQ(got.at("nic/node01:eth0 nic.mtu"), "1500");
  EXPECT_EQ(got.at("nic/node01:eth0 numa.nic"), "1");
  EXPECT_EQ(got.at("nic/node01:eth0 pcie.link_gen"), "3");
  EXPECT_EQ(got.at("nic/node01:eth0 pcie.link_gen_max"), "4");
  EXPECT_EQ(got.at("gpu/node01:0 numa.gpu"), "0");
  EXPECT_EQ(got.at("mount/node01:/data mount.options"), "rw,vers=4.2,rsize=1048576");
  EXPECT_EQ(got.count("nic/node01:eth1 numa.nic"), 0u);
  EXPECT_EQ(f.bench->sampler().store().relations().size(), 2u);
}

TEST(Settings, VersionsOfWhatIsMapped) {
  Fake f;
  f.process(100, 1, "0-7");
  f.tree
      .file("proc/100/maps",
            "7f0 r-xp 0 08:01 1 /opt/torch/lib/libtorch_cpu.so\n7f1 r-xp 0 08:01 1 "
            "/opt/nvidia/nccl/lib/libnccl.so.2.19.3\n"
            "7f2 rw-p 0 0 0 [heap]\n")
      .file("opt/torch/version.py",
            "from typing import Optional\n\n__version__ = '2.2.0+cu121'\ncuda: Optional[str] = "
            "'12.1'\n");
  auto got = f.sample();
  EXPECT_EQ(got.at("rank/3 torch.version"), "2.2.0+cu121");
  EXPECT_EQ(got.at("rank/3 cuda.version"), "12.1");
  EXPECT_EQ(got.at("rank/3 nccl.version"), "2.19.3");
}

TEST(Settings, ReadLimitsOfControlGroupsOfBothVersions) {
  Fake f;
  f.process(100, 1, "0-7");
  f.tree.file("proc/100/cgroup", "7:blkio:/train\n0::/\n")
      .file("sys/fs/cgroup/blkio/train/blkio.throttle.read_bps_device", "254:0 3500000\n")
      .file("sys/fs/cgroup/blkio/train/blkio.throttle.read_iops_device", "");
  auto got = f.sample();
  EXPECT_EQ(got.at("rank/3 storage.read_bytes_per_second"), "3500000");
  EXPECT_FALSE(got.contains("rank/3 storage.read_iops"));

  Fake two;
  two.process(100, 1, "0-7");
  two.tree.file("proc/100/cgroup", "0::/train\n")
      .file("sys/fs/cgroup/train/io.max",
            "254:0 rbps=max wbps=1000 riops=120 wiops=max\n254:16 rbps=max wbps=max riops=80\n");
  got = two.sample();
  EXPECT_EQ(got.at("rank/3 storage.read_iops"), "80");
  EXPECT_FALSE(got.contains("rank/3 storage.read_bytes_per_second"));
}

TEST(Settings, TheTightestCpuQuotaOfTheGroupsAbove) {
  Fake f;
  f.process(100, 1, "0-7");
  f.tree.file("proc/100/cgroup", "4:cpu,cpuacct:/job/step\n0::/\n")
      .file("sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_quota_us", "-1\n")
      .file("sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_period_us", "100000\n")
      .file("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n")
      .file("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(f.sample().at("rank/3 cpu.quota_cores"), "1.5");

  Fake two;
  two.process(100, 1, "0-7");
  two.tree.file("proc/100/cgroup", "0::/pod/box\n")
      .file("sys/fs/cgroup/pod/box/cpu.max", "20000 100000\n")
      .file("sys/fs/cgroup/pod/cpu.max", "max 100000\n");
  EXPECT_EQ(two.sample().at("rank/3 cpu.quota_cores"), "0.2");

  Fake none;
  none.process(100, 1, "0-7");
  none.tree.file("proc/100/cgroup", "0::/pod\n").file("sys/fs/cgroup/pod/cpu.max", "max 100000\n");
  EXPECT_EQ(none.sample().at("rank/3 cpu.quota_cores"), "unlimited");
}

TEST(Settings, ALimitThatIsLiftedIsTold) {
  Fake f;
  f.process(100, 1, "0-7");
  const std::string limit = "sys/fs/cgroup/blkio/train/blkio.throttle.read_bps_device";
  f.tree.file("proc/100/cgroup", "7:blkio:/train\n").file(limit, "254:0 3500000\n");
  f.sample();
  f.tree.file(limit, "");
  EXPECT_EQ(f.sample().at("rank/3 storage.read_bytes_per_second"), "unlimited");
}

}  // namespace
}  // namespace firstwait
