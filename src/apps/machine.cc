// The commands about this machine: doctor and bundle.
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "agent/bundle.h"
#include "apps/commands.h"
#include "collect/processes.h"
#include "collect/sampler.h"
#include "explain/hypothesis.h"
#include "present/json_writer.h"

namespace firstwait {
namespace {

// Causes that a collector's metrics help to decide.
std::vector<std::string_view> causes_of(const Collector& c) {
  std::set<std::string_view> out;
  for (const auto& h : hypotheses())
    for (const auto need : h.module->needs)
      for (const Metric& m : c.metrics) {
        const std::string_view name = m.name.substr(0, m.name.find('*'));
        if (need.find(name) != std::string_view::npos) out.insert(h.module->id);
      }
  return {out.begin(), out.end()};
}

// What the usual exporters can say and do not by default.
struct ExporterField {
  std::string_view exporter, off, how, adds;
};
constexpr ExporterField kExporterFields[] = {
    {"node_exporter", "mountstats", "--collector.mountstats",
     "NFS by operation: storage.latency, storage.client_degraded, storage.metadata"},
    {"node_exporter", "qdisc", "--collector.qdisc",
     "queues and drops of the cards: network.congestion"},
    {"node_exporter", "ethtool", "--collector.ethtool",
     "the cards' own counters: network.congestion, network.link_errors"},
    {"node_exporter", "meminfo_numa", "--collector.meminfo_numa",
     "local and remote memory: input.memory_bandwidth"},
    {"node_exporter", "netstat fields",
     "--collector.netstat.fields='^(.*_(InErrors|InErrs)|Ip_Forwarding|Ip(6|Ext)_(InOctets|"
     "OutOctets|InCEPkts)|Icmp6?_(InMsgs|OutMsgs)|TcpExt_(Listen.*|Syncookies.*|TCPSynRetrans|"
     "TCPTimeouts|TCPLostRetransmit)|Tcp_(ActiveOpens|InSegs|OutSegs|OutRsts|PassiveOpens|"
     "RetransSegs|CurrEstab)|Udp6?_(InDatagrams|OutDatagrams|NoPorts|RcvbufErrors|SndbufErrors))$'",
     "lost retransmissions and congestion marks: network.loss_retransmission, network.congestion"},
    {"dcgm-exporter", "throttle reasons",
     "add DCGM_FI_DEV_CLOCKS_EVENT_REASONS, gauge (before DCGM 3.3: "
     "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS) to the counters file",
     "why clocks are low: gpu.thermal_throttle, gpu.power_cap, gpu.clocks_limited"},
    {"dcgm-exporter", "ECC",
     "uncomment DCGM_FI_DEV_ECC_SBE_VOL_TOTAL and DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
     "gpu.hardware_errors"},
    {"dcgm-exporter", "PCIe link",
     "add DCGM_FI_DEV_PCIE_LINK_GEN and DCGM_FI_DEV_PCIE_LINK_WIDTH, gauges", "gpu.pcie_degraded"},
    {"dcgm-exporter", "NVLink errors", "uncomment DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
     "gpu.nvlink_degraded"},
    {"dcgm-exporter", "throttled time",
     "uncomment DCGM_FI_DEV_THERMAL_VIOLATION and DCGM_FI_DEV_POWER_VIOLATION",
     "gpu.thermal_throttle, gpu.power_cap"},
    {"dcgm-exporter", "SM activity",
     "uncomment DCGM_FI_PROF_SM_ACTIVE and DCGM_FI_PROF_SM_OCCUPANCY",
     "whether a busy GPU really computes: workload.batch_too_small"}};

// Switches of the kernel that keep something from being measured.
struct Advice {
  std::string what, how;
};
std::vector<Advice> kernel_advice(const Root& root) {
  std::vector<Advice> out;
  const auto is = [&](const char* file, const char* value) {
    return read_line(root.proc + file).value_or("") == value;
  };
  if (is("/sys/kernel/task_delayacct", "0"))
    out.push_back({"the kernel does not account for I/O delay (storage.latency)",
                   "sysctl -w kernel.task_delayacct=1, before the job starts"});
  if (is("/sys/kernel/sched_schedstats", "0"))
    out.push_back(
        {"scheduler statistics are off (contention.cpu)", "sysctl -w kernel.sched_schedstats=1"});
  if (is("/sys/kernel/dmesg_restrict", "1") && ::geteuid() != 0)
    out.push_back(
        {"the kernel's log is closed to ordinary users (gpu.hardware_errors, network.link_flap)",
         "run firstwait-agent with CAP_SYSLOG, or sysctl -w kernel.dmesg_restrict=0"});
  return out;
}

struct Row {
  const Collector* collector;
  Presence presence;
  std::string trouble;
  std::vector<std::string_view> causes;
};

std::string doctor_text(const std::vector<Row>& rows, const std::vector<Advice>& advice) {
  std::string out =
      fmt::format("This machine, as {}\n", ::geteuid() == 0 ? "root" : "an ordinary user");
  const auto section = [&](std::string_view title, auto wanted, bool missing) {
    std::string part;
    for (const Row& r : rows) {
      if (!wanted(r.presence)) continue;
      part += fmt::format("  {:<13}{}\n", r.collector->name, r.collector->what);
      if (!missing) continue;
      if (!r.collector->needs.empty())
        part += fmt::format("  {:<13}needs {}\n", "", r.collector->needs);
      if (!r.causes.empty())
        part += fmt::format("  {:<13}would help to decide {}\n", "", fmt::join(r.causes, ", "));
      if (!r.trouble.empty()) part += fmt::format("  {:<13}trouble at {}\n", "", r.trouble);
    }
    if (!part.empty()) out += fmt::format("\n{}\n{}", title, part);
  };
  section(
      "Measured", [](Presence p) { return p == Presence::present; }, false);
  section(
      "Ready, once a training job runs", [](Presence p) { return p == Presence::idle; }, false);
  section(
      "Here, but closed to this user", [](Presence p) { return p == Presence::denied; }, true);
  section(
      "Not what it should be", [](Presence p) { return p == Presence::broken; }, true);
  section(
      "Not on this machine", [](Presence p) { return p == Presence::absent; }, true);
  if (!advice.empty()) out += "\nTo switch on\n";
  for (const Advice& a : advice) out += fmt::format("  {}\n      {}\n", a.what, a.how);
  out += "\nWhere exporters are in use already: fields that are off by default\n";
  for (const ExporterField& f : kExporterFields)
    out += fmt::format("  {}: {} ({})\n      {}\n", f.exporter, f.off, f.adds, f.how);
  return out;
}

std::string doctor_json(const std::vector<Row>& rows, const std::vector<Advice>& advice) {
  JsonWriter j;
  j.begin_object();
  j.key("schema").text("firstwait.doctor/1");
  j.key("root").boolean(::geteuid() == 0);
  j.key("collectors").begin_array();
  for (const Row& r : rows) {
    j.begin_object();
    j.key("name").text(r.collector->name);
    j.key("status").text(name(r.presence));
    j.key("what").text(r.collector->what);
    j.key("needs").text_or_null(r.collector->needs);
    j.key("decides").begin_array();
    for (const auto c : r.causes) j.text(c);
    j.end_array();
    j.end_object();
  }
  j.end_array();
  j.key("switch_on").begin_array();
  for (const Advice& a : advice)
    j.begin_object().key("what").text(a.what).key("how").text(a.how).end_object();
  j.end_array();
  j.key("exporters").begin_array();
  for (const ExporterField& f : kExporterFields)
    j.begin_object()
        .key("exporter")
        .text(f.exporter)
        .key("off")
        .text(f.off)
        .key("how")
        .text(f.how)
        .key("adds")
        .text(f.adds)
        .end_object();
  j.end_array();
  j.end_object();
  return j.take() + "\n";
}

World this_world(const std::string& root) {
  World world;
  if (!root.empty()) world.root = Root::at(root);
  world.host = this_host();
  world.processes = std::make_shared<Processes>();
  return world;
}

// Names of users that own processes or have a home: they may stand in paths.
std::vector<std::string> user_names() {
  std::vector<std::string> out;
  for (const char* variable : {"USER", "LOGNAME", "SUDO_USER"})
    if (const char* user = std::getenv(variable); user != nullptr) out.emplace_back(user);
  for (const std::string& home : list_directory("/home", 1000)) out.push_back(home);
  if (const passwd* own = ::getpwuid(::getuid()); own != nullptr) out.emplace_back(own->pw_name);
  return out;
}

}  // namespace

int doctor(const DoctorOptions& options) {
  Sampler sampler({.world = this_world(options.root)});
  // Started, not sampled once: what hangs must not hang this.
  sampler.start();
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  const auto all_asked = [&] {
    const auto states = sampler.states();
    return std::all_of(states.begin(), states.end(),
                       [](const CollectorState& s) { return s.samplings > 0; });
  };
  while (!all_asked() && std::chrono::steady_clock::now() < patience)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::vector<Row> rows;
  for (const CollectorState& s : sampler.states())
    rows.push_back({s.collector, s.samplings == 0 ? Presence::broken : s.presence,
                    s.samplings == 0 ? "it hangs" : s.last_trouble, causes_of(*s.collector)});
  const auto advice = kernel_advice(sampler.world().root);
  sampler.stop();
  return deliver(options.format == "json" ? doctor_json(rows, advice) : doctor_text(rows, advice),
                 {});
}

int bundle(const BundleOptions& options) {
  char pattern[] = "/tmp/firstwait-bundle-XXXXXX";
  if (::mkdtemp(pattern) == nullptr)
    return fail({"no temporary directory can be made", "/tmp", "free some space there"});
  const std::string directory = pattern;
  const auto clean_up = [&] {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  };
  Sampler sampler({.world = this_world("")});
  sampler.start();
  std::this_thread::sleep_for(std::chrono::duration<double>(std::max(options.seconds, 0.2)));
  sampler.stop();
  Status status = sampler.write_bundle(directory);
  if (status && options.redact) {
    Redactor redact({sampler.world().host}, user_names());
    for (const std::string& name : list_directory(directory)) {
      const auto text = read_whole(directory + "/" + name, size_t{1} << 30);
      if (text) std::ofstream(directory + "/" + name, std::ios::binary) << redact(*text);
    }
  }
  if (status) status = write_fwb(directory, options.out);
  clean_up();
  if (!status) return fail(status.error());
  fmt::print("{}: {} s of this machine{}\n", options.out, options.seconds,
             options.redact ? ", names replaced" : "");
  return kAnalysed;
}

}  // namespace firstwait
