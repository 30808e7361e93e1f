// Start-up facts of the job's processes and of this machine: a third of real cases hinge on one of
// them.
#include <fmt/format.h>

#include <set>

#include "base/text.h"
#include "collect/processes.h"
#include "collect/sys_values.h"

namespace firstwait {
namespace {

// The environment is read by these names alone: it holds secrets too. A '*' at the end takes all
// that begins so.
constexpr std::string_view kEnvironment[] = {"OMP_NUM_THREADS",
                                             "MKL_NUM_THREADS",
                                             "OPENBLAS_NUM_THREADS",
                                             "KMP_AFFINITY",
                                             "KMP_BLOCKTIME",
                                             "GOMP_CPU_AFFINITY",
                                             "OMP_PROC_BIND",
                                             "OMP_PLACES",
                                             "NCCL_*",
                                             "TORCH_NCCL_*",
                                             "UCX_TLS",
                                             "UCX_NET_DEVICES",
                                             "GLOO_SOCKET_IFNAME",
                                             "FI_PROVIDER",
                                             "FI_EFA_USE_DEVICE_RDMA",
                                             "CUDA_VISIBLE_DEVICES",
                                             "CUDA_LAUNCH_BLOCKING",
                                             "CUDA_DEVICE_MAX_CONNECTIONS",
                                             "PYTORCH_CUDA_ALLOC_CONF",
                                             "PYTORCH_NO_CUDA_MEMORY_CACHING"};
// Of these families, what may hold a path or an address of a file with secrets.
constexpr std::string_view kNever[] = {"NCCL_CONF_FILE", "NCCL_GRAPH_FILE"};

struct Identity {
  std::string_view variable, key;
};
constexpr Identity kIdentity[] = {{"SLURM_CPUS_PER_TASK", "slurm.cpus_per_task"},
                                  {"SLURM_JOB_ID", "slurm.job_id"},
                                  {"SLURM_JOB_PARTITION", "slurm.partition"},
                                  {"SLURM_NTASKS", "slurm.ntasks"},
                                  {"POD_NAME", "kubernetes.pod"},
                                  {"POD_NAMESPACE", "kubernetes.namespace"}};

bool allowed(std::string_view name) {
  for (const std::string_view never : kNever)
    if (name == never) return false;
  for (const std::string_view a : kEnvironment)
    if (name == a || (a.ends_with("*") && name.starts_with(a.substr(0, a.size() - 1)))) return true;
  return false;
}

// How many CPUs a list such as "0-3,8" names; 0: none, or no such list.
int64_t cpus_in(std::string_view list) {
  int64_t n = 0;
  for (const std::string_view part : split(trim(list), ',')) {
    const size_t dash = part.find('-');
    int64_t from = 0, to = 0;
    if (!whole_number(part.substr(0, dash), from)) return 0;
    to = from;
    if (dash != std::string_view::npos && !whole_number(part.substr(dash + 1), to)) return 0;
    if (to < from || to - from > 1'000'000) return 0;
    n += to - from + 1;
  }
  return n;
}

class Settings final : public Sampling {
 public:
  explicit Settings(const World& world)
      : root_(world.root), host_(world.host), processes_(world.processes) {}

  Presence sample(Out& out) override {
    if (host_due_.due(out.now())) machine(out);
    if (!processes_) return Presence::present;
    const bool changed = processes_->generation() != generation_;
    generation_ = processes_->generation();
    job(changed || job_due_.due(out.now()), out);
    return Presence::present;
  }

 private:
  void set(Out& out, const std::string& entity, std::string key, std::string_view value,
           const std::string& source) {
    value = trim(value);
    constexpr size_t kLong = 500;
    if (!value.empty())
      out.add(
          Setting{entity, std::move(key), std::string(value.substr(0, kLong)), source, out.now()});
  }
  void set_file(Out& out, const std::string& entity, std::string key, const std::string& path) {
    if (const auto line = read_line(path)) set(out, entity, std::move(key), *line, path);
  }

  void machine(Out& out) {
    const std::string host = "host/" + host_, sys = root_.sys;
    set_file(out, host, "kernel.version", root_.proc + "/sys/kernel/osrelease");
    set_file(out, host, "driver.version", sys + "/module/nvidia/version");
    const std::string online = sys + "/devices/system/cpu/online";
    if (const auto list = read_line(online))
      if (const int64_t n = cpus_in(*list); n > 0)
        set(out, host, "cpu.count", std::to_string(n), online);
    set_file(out, host, "kernel.numa_balancing", root_.proc + "/sys/kernel/numa_balancing");
    set_file(out, host, "kernel.transparent_hugepage",
             sys + "/kernel/mm/transparent_hugepage/enabled");
    set_file(out, host, "cpu.governor", sys + "/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    nics(out);
    mounts(out);
  }

  void nics(Out& out) {
    for (const std::string& name : list_directory(root_.sys + "/class/net", 512)) {
      const std::string at = root_.sys + "/class/net/" + name, entity = "nic/" + host_ + ":" + name;
      if (!read_line(at + "/operstate") || name == "lo") continue;
      set_file(out, entity, "nic.mtu", at + "/mtu");
      int64_t megabits = 0;
      if (const auto speed = read_line(at + "/speed");
          speed && whole_number(*speed, megabits) && megabits > 0)
        set(out, entity, "nic.speed", std::to_string(megabits) + " Mbit/s", at + "/speed");
      pci(out, entity, at + "/device", "numa.nic");
    }
    for (const std::string& name : list_directory(root_.sys + "/class/infiniband", 256)) {
      const std::string at = root_.sys + "/class/infiniband/" + name,
                        entity = "nic/" + host_ + ":" + name;
      set_file(out, entity, "firmware.version", at + "/fw_ver");
      set_file(out, entity, "firmware.board", at + "/board_id");
      set_file(out, entity, "nic.rate", at + "/ports/1/rate");
      pci(out, entity, at + "/device", "numa.nic");
    }
    // GPUs by the order of their PCI addresses, as NVML counts them.
    std::vector<std::string> gpus;
    for (const std::string& bus : list_directory(root_.sys + "/bus/pci/devices", 4096)) {
      const std::string at = root_.sys + "/bus/pci/devices/" + bus;
      const auto vendor = read_line(at + "/vendor"), kind = read_line(at + "/class");
      const bool display = kind && kind->starts_with("0x03"),
                 accelerator = kind && kind->starts_with("0x12");
      if (vendor && (*vendor == "0x10de" || *vendor == "0x1002") && (display || accelerator))
        gpus.push_back(at);
    }
    for (size_t i = 0; i < gpus.size(); ++i)
      pci(out, "gpu/" + host_ + ":" + std::to_string(i), gpus[i], "numa.gpu");
  }

  // "8.0 GT/s PCIe" is generation 3.
  static int generation(std::string_view speed) {
    constexpr std::pair<std::string_view, int> kSpeeds[] = {
        {"2.5", 1},  {"5", 2},  {"5.0", 2},  {"8", 3},  {"8.0", 3}, {"16", 4},
        {"16.0", 4}, {"32", 5}, {"32.0", 5}, {"64", 6}, {"64.0", 6}};
    const std::string_view number = speed.substr(0, speed.find(' '));
    for (const auto& [text, gen] : kSpeeds)
      if (number == text) return gen;
    return 0;
  }

  void pci(Out& out, const std::string& entity, const std::string& at,
           const std::string& numa_key) {
    int64_t node = -1;
    if (const auto text = read_line(at + "/numa_node");
        text && whole_number(*text, node) && node >= 0)
      set(out, entity, numa_key, *text, at + "/numa_node");
    for (const auto& [file, key] :
         {std::pair<const char*, const char*>{"/current_link_speed", "pcie.link_gen"},
          {"/max_link_speed", "pcie.link_gen_max"}})
      if (const auto speed = read_line(at + file))
        if (const int gen = generation(*speed); gen > 0)
          set(out, entity, key, std::to_string(gen), at + file);
    for (const auto& [file, key] :
         {std::pair<const char*, const char*>{"/current_link_width", "pcie.link_width"},
          {"/max_link_width", "pcie.link_width_max"}}) {
      int64_t lanes = 0;
      // 255 means that the link says nothing.
      if (const auto width = read_line(at + file);
          width && whole_number(*width, lanes) && lanes > 0 && lanes < 64)
        set(out, entity, key, *width, at + file);
    }
  }

  // Mounts that data may come from over the network.
  void mounts(Out& out) {
    const std::string path = root_.proc + "/self/mountinfo";
    const auto text = read_whole(path, 4 << 20);
    if (!text) return;
    Scan lines(*text);
    std::string_view line;
    std::vector<Relation> relations;
    for (int n = 0; lines.line(line) && n < 4096; ++n) {
      const size_t dash = line.find(" - ");
      Scan head(line), tail(line.substr(std::min(dash, line.size())));
      if (dash == std::string_view::npos || !head.skip(4) || !tail.skip(1)) continue;
      const std::string_view point = head.word(), type = tail.word(), server = tail.word(),
                             options = tail.word();
      constexpr std::string_view kRemote[] = {"nfs",  "nfs4", "lustre", "ceph", "beegfs",
                                              "gpfs", "cifs", "smb3",   "9p",   "virtiofs"};
      if (std::find(std::begin(kRemote), std::end(kRemote), type) == std::end(kRemote) &&
          !type.starts_with("fuse."))
        continue;
      const std::string entity = "mount/" + host_ + ":" + std::string(point);
      set(out, entity, "mount.fstype", type, path);
      set(out, entity, "mount.options", options, path);
      relations.push_back({"host/" + host_, "mounts", entity, "", kNoTime, kNoTime});
      relations.push_back(
          {"storage/" + std::string(server), "serves", entity, "", kNoTime, kNoTime});
    }
    out.relate("mountinfo", std::move(relations));
  }

  // What may confine a running job is looked at each time, what it was started with now and then.
  void job(bool all, Out& out) {
    std::map<int32_t, std::pair<std::string, std::string>> narrowest;  // by rank: list, source
    std::set<std::pair<int32_t, std::string>> looked_at;  // the groups of a rank's processes
    for (const JobProcess& p : processes_->list()) {
      if (p.role == ProcessRole::other || p.rank < 0) continue;
      const std::string at = root_.proc + "/" + std::to_string(p.pid);
      if (const auto status = read_whole(at + "/status", 64 << 10))
        affinity(p, *status, at + "/status", narrowest);
      if (p.role != ProcessRole::trainer) continue;
      const std::string rank = "rank/" + std::to_string(p.rank);
      if (const auto groups = read_whole(at + "/cgroup", 64 << 10);
          groups && looked_at.emplace(p.rank, *groups).second) {
        cpuset(rank, *groups, out);
        read_limits(rank, *groups, out);
        cpu_quota(rank, *groups, out);
      }
      if (all) trainer(p, rank, at, out);
    }
    for (const auto& [rank, mask] : narrowest)
      set(out, "rank/" + std::to_string(rank), "cpu.affinity", mask.first, mask.second);
  }

  // A library may confine the workers alone: the narrowest mask among a rank's processes is what
  // binds it.
  static void affinity(const JobProcess& p, std::string_view status, const std::string& source,
                       std::map<int32_t, std::pair<std::string, std::string>>& narrowest) {
    constexpr std::string_view kKey = "Cpus_allowed_list:";
    const size_t at = status.find(kKey);
    if (at == std::string_view::npos) return;
    Scan scan(status.substr(at + kKey.size()));
    const std::string_view list = scan.word();
    const int64_t n = cpus_in(list);
    auto& known = narrowest[p.rank];
    if (n > 0 && (known.first.empty() || n < cpus_in(known.first)))
      known = {std::string(list), source};
  }

  void trainer(const JobProcess& p, const std::string& rank, const std::string& at, Out& out) {
    if (p.world_size > 0)
      set(out, rank, "world_size", std::to_string(p.world_size), at + "/environ");
    if (const auto environ = read_whole(at + "/environ", 256 << 10)) {
      for (size_t from = 0; from < environ->size();) {
        const size_t end = std::min(environ->find('\0', from), environ->size());
        const std::string_view entry = std::string_view(*environ).substr(from, end - from);
        const size_t equals = entry.find('=');
        from = end + 1;
        if (equals == std::string_view::npos || !allowed(entry.substr(0, equals))) continue;
        set(out, rank, "env." + std::string(entry.substr(0, equals)), entry.substr(equals + 1),
            at + "/environ");
      }
      for (const Identity& i : kIdentity)
        set(out, rank, std::string(i.key), environment_value(*environ, i.variable),
            at + "/environ");
    }
    libraries(rank, at, out);
  }

  // Calls f(controllers, path) for each hierarchy that /proc/PID/cgroup names, until it says true.
  template <class F>
  static void each_group(std::string_view text, F f) {
    Scan lines(text);
    std::string_view line;
    while (lines.line(line)) {
      Scan scan(line);
      scan.until(':');
      const std::string_view controllers = scan.until(':');
      const std::string path(scan.rest());
      if (!path.starts_with("/") || contains(path, "/..")) continue;
      if (f(controllers, path == "/" ? std::string() : path)) return;
    }
  }

  void cpuset(const std::string& rank, std::string_view groups, Out& out) {
    each_group(groups, [&](std::string_view controllers, const std::string& path) {
      for (const char* dir : {"", "/cpuset", "/unified"}) {
        if (!controllers.empty() && (!contains(controllers, "cpuset") || *dir == 0)) continue;
        for (const char* file :
             {"/cpuset.cpus.effective", "/cpuset.effective_cpus", "/cpuset.cpus"}) {
          const std::string where = root_.sys + "/fs/cgroup" + dir + path + file;
          if (const auto list = read_line(where); list && !list->empty()) {
            set(out, rank, "cpu.cpuset", *list, where);
            return true;
          }
        }
      }
      return false;
    });
  }

  // How much the rank's control group may read from disks: of several disks the tightest.
  void read_limits(const std::string& rank, std::string_view groups, Out& out) {
    int64_t bytes = 0, reads = 0;
    std::string source;
    const auto tighter = [](int64_t& known, int64_t value) {
      if (value > 0 && (known == 0 || value < known)) known = value;
    };
    each_group(groups, [&](std::string_view controllers, const std::string& path) {
      if (controllers == "blkio") {
        const std::string at = root_.sys + "/fs/cgroup/blkio" + path + "/blkio.throttle.read_";
        for (auto [file, known] : {std::pair{"bps_device", &bytes}, {"iops_device", &reads}}) {
          const auto text = read_whole(at + file, 64 << 10);
          if (!text) continue;
          source = at + file;
          each_device(*text, [&](Scan& scan) {
            int64_t value = 0;
            if (scan.number(value)) tighter(*known, value);
          });
        }
      } else if (controllers.empty()) {
        for (const char* dir : {"", "/unified"}) {
          const std::string where = root_.sys + "/fs/cgroup" + dir + path + "/io.max";
          const auto text = read_whole(where, 64 << 10);
          if (!text) continue;
          source = where;
          each_device(*text, [&](Scan& scan) {
            for (std::string_view word = scan.word(); !word.empty(); word = scan.word()) {
              int64_t value = 0;
              if (word.starts_with("rbps=") && whole_number(word.substr(5), value))
                tighter(bytes, value);
              if (word.starts_with("riops=") && whole_number(word.substr(6), value))
                tighter(reads, value);
            }
          });
        }
      }
      return false;
    });
    const auto tell = [&](const char* key, int64_t value) {
      tell_limit(out, rank, key, value > 0 ? std::to_string(value) : std::string(), source);
    };
    tell("storage.read_bytes_per_second", bytes);
    tell("storage.read_iops", reads);
  }

  // Cores that the CPU quota allows: the tightest of the rank's control group and those above it.
  void cpu_quota(const std::string& rank, std::string_view groups, Out& out) {
    double cores = 0;
    std::string source;
    const auto tighter = [&](std::string_view used, std::string_view period,
                             const std::string& where) {
      int64_t u = 0, p = 0;
      if (!whole_number(trim(used), u) || !whole_number(trim(period), p) || u <= 0 || p <= 0)
        return;  // "max" or -1: no quota
      const double value = static_cast<double>(u) / static_cast<double>(p);
      if (cores > 0 && value >= cores) return;
      cores = value;
      source = where;
    };
    each_group(groups, [&](std::string_view controllers, std::string path) {
      const auto names = split(controllers, ',');
      const bool v1 = std::find(names.begin(), names.end(), "cpu") != names.end();
      if (!v1 && !controllers.empty()) return false;
      constexpr int kDepth = 64;
      for (int depth = 0; depth < kDepth; ++depth) {
        for (const char* dir : {v1 ? "/cpu,cpuacct" : "", v1 ? "/cpu" : "/unified"}) {
          const std::string at = root_.sys + "/fs/cgroup" + dir + path + "/cpu.";
          if (v1) {
            const auto used = read_line(at + "cfs_quota_us"), per = read_line(at + "cfs_period_us");
            if (used && per) tighter(*used, *per, at + "cfs_quota_us");
          } else if (const auto max = read_line(at + "max")) {
            const size_t blank = std::min(max->find(' '), max->size());
            tighter(std::string_view(*max).substr(0, blank),
                    std::string_view(*max).substr(std::min(blank + 1, max->size())), at + "max");
          }
        }
        if (path.empty()) break;
        path.resize(path.rfind('/'));
      }
      return false;
    });
    limited_.insert(rank + "cpu.quota_cores");  // that there is none is told too
    tell_limit(out, rank, "cpu.quota_cores", cores > 0 ? fmt::format("{:.4g}", cores) : "", source);
  }

  template <class F>
  static void each_device(std::string_view text, F f) {
    Scan lines(text);
    std::string_view line;
    while (lines.line(line)) {
      Scan scan(line);
      if (contains(scan.word(), ":")) f(scan);
    }
  }

  // A limit that was lifted is told as well: what it was would be believed otherwise.
  void tell_limit(Out& out, const std::string& rank, const char* key, const std::string& value,
                  const std::string& source) {
    if (!value.empty())
      limited_.insert(rank + key);
    else if (!limited_.contains(rank + key))
      return;
    set(out, rank, key, value.empty() ? "unlimited" : value, source);
  }

  // Versions as the libraries that are mapped tell them.
  void libraries(const std::string& rank, const std::string& at, Out& out) {
    const auto maps = read_whole(at + "/maps", 8 << 20);
    if (!maps) return;
    std::set<std::string_view> seen;
    Scan lines(*maps);
    std::string_view line;
    while (lines.line(line)) {
      const size_t slash = line.find('/');
      if (slash == std::string_view::npos) continue;
      const std::string_view path = line.substr(slash);
      if (!contains(path, ".so") || !seen.insert(path).second) continue;
      const std::string_view file = path.substr(path.rfind('/') + 1);
      for (const auto& [prefix, key] :
           {std::pair<std::string_view, const char*>{"libnccl.so.2.", "nccl.version"},
            {"libcudart.so.", "cuda.version"},
            {"libcuda.so.", "driver.version"}})
        if (file.starts_with(prefix))
          set(out, rank, key,
              file.substr(prefix.size() - (key == std::string_view("nccl.version") ? 2 : 0)),
              std::string(path));
      if (file.starts_with("libtorch_cpu.so") || file.starts_with("libtorch_python.so"))
        torch(rank, path, out);
    }
  }

  // torch/lib/libtorch_cpu.so: torch/version.py stands beside lib.
  void torch(const std::string& rank, std::string_view library, Out& out) {
    std::string dir(library.substr(0, library.rfind('/')));
    if (!dir.ends_with("/lib")) return;
    const std::string path = root_.base + dir.substr(0, dir.size() - 4) + "/version.py";
    const auto text = read_whole(path, 64 << 10);
    if (!text) return;
    const auto quoted = [&](std::string_view name) -> std::string {
      const size_t at = text->find("\n" + std::string(name)),
                   start = text->starts_with(name) ? 0 : at;
      if (start == std::string::npos) return {};
      const size_t end = std::min(text->find('\n', start + 1), text->size());
      const size_t open = text->find('\'', start),
                   close = open == std::string::npos ? open : text->find('\'', open + 1);
      return close == std::string::npos || close > end ? std::string()
                                                       : text->substr(open + 1, close - open - 1);
    };
    set(out, rank, "torch.version", quoted("__version__"), path);
    if (const auto cuda = quoted("cuda"); !cuda.empty()) set(out, rank, "cuda.version", cuda, path);
  }

  Root root_;
  std::string host_;
  std::shared_ptr<Processes> processes_;
  uint64_t generation_ = UINT64_MAX;
  std::set<std::string> limited_;  // rank and key of limits that were told
  Occasionally host_due_{Ns{60} * 1'000'000'000}, job_due_{Ns{60} * 1'000'000'000};
};

}  // namespace

extern const Collector collector_settings{
    .name = "settings",
    .what =
        "start-up facts: affinity, cpuset, read limits, thread and NCCL variables, versions, "
        "mounts, NUMA nodes "
        "and PCIe links",
    .metrics = {},
    .reads =
        "/proc/PID/{status,environ,maps,cgroup}, /proc/self/mountinfo, /sys/fs/cgroup, "
        "/sys/class/net, "
        "/sys/bus/pci",
    .needs = "the same user as the job, or CAP_SYS_PTRACE (environment, libraries)",
    .period = 5'000'000'000,
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Settings>(w);
    }};

}  // namespace firstwait
