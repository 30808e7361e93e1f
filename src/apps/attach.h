// `firstwait attach`: a process that already runs, watched from outside.
#pragma once
#include <string>

namespace firstwait {

struct AttachOptions {
  int pid = 0;
  double seconds = 0;  // 0: until the process ends, or SIGINT
  std::string name, out, format = "text", report;
};

int attach_command(const AttachOptions& options);

}  // namespace firstwait
