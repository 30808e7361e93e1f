// Defaults of the command line from files: /etc/firstwait/firstwait.yaml, then that of the user,
// $XDG_CONFIG_HOME/firstwait/firstwait.yaml (~/.config). A command, below it its long options:
//   diagnose:
//     format: json
// The command line and the environment win over both.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace firstwait {

// Where the files may lie, the one that counts less first.
std::vector<std::string> config_files();

// Sets the defaults of `command` from the file's part for it; all of the file is checked. A file
// that is not there is no error. An unknown command or option, and a value that the option refuses,
// are errors that name the line.
Status apply_config(CLI::App& app, const std::string& command, const std::string& path);

}  // namespace firstwait
