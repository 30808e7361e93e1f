// What collectors read from: injected, so that every collector runs on a tree of recorded files.
#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace firstwait {

class Processes;

struct Root {
  std::string proc = "/proc", sys = "/sys";
  std::string base;  // in front of every other path: mount points, /dev, /etc

  // A tree that holds proc/ and sys/: a recorded one, or the host's as a container sees it.
  static Root at(const std::string& directory) {
    return {directory + "/proc", directory + "/sys", directory};
  }
  // Only the machine itself answers netlink, ioctl and NVML.
  bool live() const { return proc == "/proc"; }
};

struct World {
  Root root = {};
  std::string host = {};                      // as `instance` names it
  std::string nvml = "libnvidia-ml.so.1";     // the library to load
  std::shared_ptr<Processes> processes = {};  // the job's own; null: none is watched
};

}  // namespace firstwait
