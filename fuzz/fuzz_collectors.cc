// Feeds the collectors hostile text of the kernel: the first byte chooses a file of a small tree
// that stands for /proc and /sys, the rest is what that file holds, in two halves at two samplings.
// What was sampled must then be told as text.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "collect/processes.h"
#include "collect/sampler.h"

namespace firstwait {
namespace {

struct Target {
  std::string_view collector, file;
};
constexpr Target kTargets[] = {
    {"cpu", "proc/stat"},
    {"loadavg", "proc/loadavg"},
    {"loadavg", "proc/stat"},
    {"schedstat", "proc/schedstat"},
    {"pressure", "proc/pressure/cpu"},
    {"meminfo", "proc/meminfo"},
    {"vmstat", "proc/vmstat"},
    {"diskstats", "proc/diskstats"},
    {"filesystem", "proc/1/mountinfo"},
    {"mountstats", "proc/self/mountstats"},
    {"nfs", "proc/net/rpc/nfs"},
    {"lustre", "proc/fs/lustre/llite/fs1-ffff/stats"},
    {"netdev", "proc/net/dev"},
    {"netstat", "proc/net/netstat"},
    {"netstat", "proc/net/snmp"},
    {"netstat", "proc/net/snmp6"},
    {"softnet", "proc/net/softnet_stat"},
    {"netclass", "sys/class/net/eth0/speed"},
    {"infiniband", "sys/class/infiniband/mlx5_0/ports/1/rate"},
    {"infiniband", "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data"},
    {"numa", "sys/devices/system/node/node0/numastat"},
    {"hwmon", "sys/class/hwmon/hwmon0/temp1_input"},
    {"thermal", "sys/class/thermal/thermal_zone0/temp"},
    {"edac", "sys/devices/system/edac/mc/mc0/ce_count"},
    {"rapl", "sys/class/powercap/intel-rapl:0/energy_uj"},
    {"cpufreq", "sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq"},
    {"kernel_log", "dev/kmsg"},
    {"process", "proc/11/stat"},
    {"process", "proc/11/io"},
    {"process", "proc/11/schedstat"},
    {"process", "proc/11/status"},
    {"process", "proc/11/environ"},
    {"process", "proc/11/cmdline"},
    {"cgroup", "proc/11/cgroup"},
    {"cgroup", "proc/self/mountinfo"},
    {"cgroup", "sys/fs/cgroup/a/cpu.stat"},
    {"cgroup", "sys/fs/cgroup/a/cpu.max"},
    {"cgroup", "sys/fs/cgroup/a/io.pressure"},
    {"settings", "proc/11/environ"},
    {"settings", "proc/11/maps"},
    {"settings", "proc/11/mountinfo"},
    {"settings", "proc/11/status"},
    {"settings", "sys/devices/system/cpu/online"},
};

class Tree {
 public:
  Tree() {
    std::string pattern = "/dev/shm/fuzz-collectors-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
    for (const auto& t : kTargets) write(t.file, "");
    write("proc/11/stat",
          "11 (python3) S 1 1 1 0 -1 0 100 0 7 0 90 5 0 0 20 0 3 0 5000 1000000 250 1 1 1 0 0 0 0 "
          "0 0 0 0 0 0 17 1 0 0 4 0 0 0 0 0 0 0 0 0 0\n");
    write("proc/11/cmdline", std::string_view("python3\0train.py\0", 17));
    write("proc/11/environ", std::string_view("RANK=0\0WORLD_SIZE=1\0", 20));
    write("proc/11/cgroup", "0::/a\n");
    write("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    write("sys/class/hwmon/hwmon0/name", "coretemp\n");
    write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
    write("sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
  }
  ~Tree() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  void write(std::string_view name, std::string_view text) const {
    const std::filesystem::path at = path_ + "/" + std::string(name);
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at, std::ios::binary)
        .write(text.data(), static_cast<std::streamsize>(text.size()));
  }
  std::string read(std::string_view name) const {
    std::ifstream in(path_ + "/" + std::string(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const Registered<Collector>& module(std::string_view name) {
  for (const auto& c : collectors())
    if (c.module->name == name) return c;
  std::abort();  // the table names a collector that is not there
}

void sample(const Tree& tree, const Target& target, std::string_view first,
            std::string_view second) {
  const std::string before = tree.read(target.file);
  const auto processes = std::make_shared<Processes>();
  Sampler sampler({.world = {Root::at(tree.path()), "node01", "", processes},
                   .modules = std::span(&module(target.collector), 1)});
  for (const auto text : {first, second}) {
    tree.write(target.file, text);
    processes->search(Root::at(tree.path()));
    sampler.sample_once();
  }
  tree.write(target.file, before);
  sampler.write_metrics([](std::string_view) { return true; });
}

}  // namespace
}  // namespace firstwait

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace firstwait;
  static const Tree tree;
  if (size < 1) return 0;
  const std::string_view data(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  const size_t half = data.size() / 2;
  sample(tree, kTargets[bytes[0] % std::size(kTargets)], data.substr(0, half), data.substr(half));
  return 0;
}
