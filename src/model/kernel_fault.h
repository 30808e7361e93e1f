// What the kernel's messages say, in one place: the importer of logs and the collector of the live
// log both read it.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace firstwait {

struct KernelFault {
  std::string
      kind;  // of an Event: xid, link_down, link_up, oom, throttle, hardware_error, io_error ...
  std::string device;  // "gpu/0000:9b:00", "nic/eth0"; empty: the host
  std::vector<std::pair<std::string, std::string>> attributes;
};

// Of one message without its time and host; nothing when it says nothing that matters.
std::optional<KernelFault> kernel_fault(std::string_view message);

}  // namespace firstwait
