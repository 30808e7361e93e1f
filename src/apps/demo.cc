#include "apps/demo.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace firstwait {

int demo(const DemoOptions& options) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = program.parent_path();
  for (const char* place : {"../../../lab/lab", "../lib/firstwait/lab/lab"}) {
    const fs::path lab = fs::weakly_canonical(folder / place, error);
    if (error || !fs::exists(lab, error)) continue;
    ::setenv("FIRSTWAIT", program.c_str(), 1);
    ::setenv("FIRSTWAIT_LAB_BUILD", folder.parent_path().c_str(), 1);
    ::execlp("python3", "python3", lab.c_str(), "demo", "--out", options.out.c_str(), nullptr);
    std::fprintf(stderr, "firstwait: python3: %s. Install python3 (3.9 or newer)\n",
                 std::strerror(errno));
    return 2;
  }
  std::fprintf(stderr,
               "firstwait: the demo does not lie beside this program; run it from a build of the "
               "source, or install with `cmake --install`\n");
  return 2;
}

}  // namespace firstwait
