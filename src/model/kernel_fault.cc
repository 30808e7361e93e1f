#include "model/kernel_fault.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"

namespace firstwait {
namespace {

struct XidMeaning {
  int64_t code;
  std::string_view meaning;
};
// From NVIDIA's Xid documentation; the codes that interrupt or slow training.
constexpr XidMeaning kXids[] = {{8, "GPU stopped processing"},
                                {13, "graphics engine exception"},
                                {31, "GPU memory page fault"},
                                {32, "invalid or corrupted push buffer"},
                                {43, "GPU stopped processing"},
                                {45, "preemptive cleanup, due to previous errors"},
                                {48, "double bit ECC error"},
                                {61, "internal micro-controller breakpoint"},
                                {62, "internal micro-controller halt"},
                                {63, "row remapping or page retirement recorded"},
                                {64, "row remapping or page retirement failed"},
                                {68, "NVDEC exception"},
                                {69, "graphics engine class error"},
                                {74, "NVLink error"},
                                {79, "GPU has fallen off the bus"},
                                {92, "high single bit ECC error rate"},
                                {94, "contained ECC error"},
                                {95, "uncontained ECC error"},
                                {109, "context switch timeout"},
                                {119, "GSP RPC timeout"},
                                {120, "GSP error"},
                                {121, "C2C link error"},
                                {122, "SPI PMU RPC read failure"},
                                {136, "link training failed"},
                                {140, "unrecovered ECC error"},
                                {145, "NVLink RLW error"},
                                {149, "NVLink NETIR error"},
                                {154, "GPU recovery action changed"}};

// The word behind `marker`; empty when it is not there.
std::string_view after(std::string_view text, std::string_view marker,
                       std::string_view ends = " ,:;)]") {
  const size_t at = text.find(marker);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + marker.size());
  return rest.substr(0, std::min(rest.find_first_of(ends), rest.size()));
}

// "0000:9b:00" of "PCI:0000:9b:00" and of "0000:9b:00.0".
std::string_view bus_id(std::string_view text) {
  if (const auto pci = after(text, "PCI:", " )],"); !pci.empty()) return pci;
  return {};
}

bool find_gpu(std::string_view m, KernelFault& f) {
  const size_t xid = m.find("Xid (");
  if (contains(m, "NVRM") && xid != std::string_view::npos) {
    const std::string_view rest = m.substr(xid);
    const size_t close = rest.find("): ");
    const auto code = close == std::string_view::npos ? std::nullopt
                                                      : parse_int(after(rest.substr(close), "): "));
    if (!code) return false;
    f.kind = "xid";
    f.device = "gpu/" + std::string(bus_id(rest));
    f.attributes = {{"code", std::to_string(*code)}, {"bus", std::string(bus_id(rest))}};
    for (const auto& x : kXids)
      if (x.code == *code) f.attributes.emplace_back("meaning", x.meaning);
    if (const auto pid = after(rest, "pid="); !pid.empty()) f.attributes.emplace_back("pid", pid);
    if (const auto name = after(rest, "name="); !name.empty())
      f.attributes.emplace_back("process", name);
    return true;
  }
  if (contains(m, "fallen off the bus")) {
    f.kind = "xid";
    f.device = "gpu/" + std::string(bus_id(m));
    f.attributes = {
        {"code", "79"}, {"bus", std::string(bus_id(m))}, {"meaning", "GPU has fallen off the bus"}};
    return true;
  }
  return false;
}

// The interface a link message is about: the last word before "Link" or "NIC Link" that names one.
std::string interface_of(std::string_view m) {
  for (const std::string_view marker :
       {": NIC Link", " NIC Link", ": Link", ": link", ": port ", " link becomes"}) {
    const size_t at = m.find(marker);
    if (at == std::string_view::npos) continue;
    const auto words = split_blank(m.substr(0, at));
    for (auto word = words.rbegin(); word != words.rend(); ++word) {
      std::string_view w = *word;
      while (!w.empty() && (w.back() == ':' || w.back() == ',')) w.remove_suffix(1);
      // "0000:3b:00.0" is the device's place, not its name.
      if (!w.empty() && w.find(':') == std::string_view::npos &&
          w.find('(') == std::string_view::npos && w != "(NETDEV_CHANGE)")
        return std::string(w);
    }
  }
  return {};
}

bool find_link(std::string_view m, KernelFault& f) {
  const bool about_link =
      contains_ignoring_case(m, "link up") || contains_ignoring_case(m, "link down") ||
      contains_ignoring_case(m, "link is up") || contains_ignoring_case(m, "link is down") ||
      contains_ignoring_case(m, "link becomes ready");
  if (!about_link || contains_ignoring_case(m, "SATA") || contains_ignoring_case(m, "usb"))
    return false;
  const bool down = contains_ignoring_case(m, "down");
  f.kind = down ? "link_down" : "link_up";
  const std::string device = interface_of(m);
  if (!device.empty()) f.device = "nic/" + device;
  const size_t gbps = m.find("Gbps");
  if (gbps != std::string_view::npos) {
    const auto words = split_blank(m.substr(0, gbps));
    if (!words.empty()) f.attributes.emplace_back("gbit_per_second", words.back());
  }
  return true;
}

bool find_host(std::string_view m, KernelFault& f) {
  if (contains(m, "Out of memory:") || contains(m, "Memory cgroup out of memory") ||
      contains(m, "oom-kill:")) {
    // "oom-kill:" announces the victim that the next line names with more detail.
    f.kind = "oom";
    if (const auto pid = after(m, "ocess "); !pid.empty() && parse_int(pid))
      f.attributes.emplace_back("pid", pid);
    if (const auto pid = after(m, "pid="); !pid.empty() && parse_int(pid))
      f.attributes.emplace_back("pid", pid);
    if (const auto name = after(m, "(", ")"); !name.empty() && contains(m, "rocess "))
      f.attributes.emplace_back("process", name);
    if (const auto task = after(m, "task="); !task.empty())
      f.attributes.emplace_back("process", task);
    f.attributes.emplace_back(
        "scope",
        contains(m, "cgroup out of memory") || contains(m, "CONSTRAINT_MEMCG") ? "cgroup" : "host");
    return true;
  }
  const auto is = [&](std::string_view kind, std::initializer_list<std::string_view> words) {
    const bool hit = std::any_of(words.begin(), words.end(),
                                 [&](auto w) { return contains_ignoring_case(m, w); });
    if (hit) f.kind = kind;
    return hit;
  };
  if (contains(m, "nfs: server ")) {
    const std::string server(after(m, "nfs: server ", " "));
    if (is("nfs_not_responding", {"not responding", "timed out"}) || is("nfs_ok", {" OK"})) {
      f.attributes.emplace_back("server", server);
      return true;
    }
  }
  if (is("throttle", {"temperature above threshold", "temperature/speed normal", "clock throttled",
                      "thermal throttl"})) {
    f.attributes.emplace_back("reason", "thermal");
    if (const auto cpu = after(m, "CPU"); parse_int(cpu)) f.attributes.emplace_back("cpu", cpu);
    return true;
  }
  if (is("hardware_error", {"[Hardware Error]", "Machine check events logged", "mce: [Hardware",
                            "EDAC MC", "PCIe Bus Error"})) {
    if (contains_ignoring_case(m, "uncorrect") || contains(m, " UE ") ||
        contains_ignoring_case(m, "fatal"))
      f.attributes.emplace_back("severity", "uncorrected");
    else if (contains_ignoring_case(m, "correct") || contains(m, " CE "))
      f.attributes.emplace_back("severity", "corrected");
    return true;
  }
  if (is("io_error", {"I/O error", "blk_update_request", "critical medium error", "Buffer I/O"}) ||
      (contains(m, "nvme") &&
       is("io_error", {"timeout, aborting", "timeout, reset controller", "controller is down"}))) {
    if (const auto device = after(m, "dev "); !device.empty())
      f.attributes.emplace_back("device", device);
    return true;
  }
  if (is("hung_task", {"blocked for more than"}) && contains(m, "task ")) {
    if (const auto task = after(m, "task "); !task.empty())
      f.attributes.emplace_back("process", task);
    return true;
  }
  f.kind.clear();
  return false;
}

}  // namespace

std::optional<KernelFault> kernel_fault(std::string_view message) {
  KernelFault f;
  if (!find_gpu(message, f) && !find_link(message, f) && !find_host(message, f))
    return std::nullopt;
  return f;
}

}  // namespace firstwait
