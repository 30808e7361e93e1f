// `firstwait run`: a program with its evidence collected, and the diagnosis when it has ended.
#pragma once
#include <string>
#include <vector>

#include "apps/commands.h"

namespace firstwait {

struct RunOptions {
  std::vector<std::string> command;
  std::string name;  // of the job; empty: made from the command
  std::string out;   // folder of the bundle; empty: made from the name and the time
  bool live = false;
  std::string format = "text", report;  // where the report goes; empty: standard error
};

// Does not return when the program was started: ends as the program ended.
int run_command(const RunOptions& options);

}  // namespace firstwait
