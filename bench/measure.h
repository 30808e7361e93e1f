// What the benches share: children that are timed, and medians.
#pragma once
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace firstwait::bench {

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct ProcessCost {
  double wall_s = 0, cpu_s = 0, peak_mib = 0;
  bool ok = true;
};

// Medians over runs of a child process without output. The peak memory is that of the child, or of
// this process where that is larger: keep large work in children.
inline ProcessCost measure(int runs, const std::function<void()>& child) {
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  std::vector<double> wall, cpu, peak;
  bool ok = true;
  for (int i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const pid_t pid = ::fork();
    if (pid == 0) {
      const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
      ::dup2(null, STDOUT_FILENO);
      child();
      ::_exit(127);
    }
    int status = 0;
    rusage usage{};
    ::wait4(pid, &status, 0, &usage);
    ok = ok && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    wall.push_back(seconds_since(begin));
    cpu.push_back(seconds(usage.ru_utime) + seconds(usage.ru_stime));
    peak.push_back(static_cast<double>(usage.ru_maxrss) / 1024);
  }
  return {median(wall), median(cpu), median(peak), ok};
}

// Runs `work` in a child, so that its memory is not counted to later children; false: it failed.
inline bool in_child(const std::function<bool()>& work) {
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const bool ok = work();
    std::fflush(nullptr);
    ::_exit(ok ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// `firstwait diagnose` of a file, as a whole process.
inline ProcessCost diagnose(int runs, const std::string& file) {
  std::error_code error;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::string program = (here / "firstwait").string();
  return measure(runs, [&] {
    ::execl(program.c_str(), program.c_str(), "diagnose", file.c_str(), "--format", "json",
            nullptr);
  });
}

// A folder for made-up files, removed at the end.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("firstwait-bench-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace firstwait::bench
