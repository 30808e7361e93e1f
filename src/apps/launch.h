// Starts the program of `firstwait run` and stands between it and its caller without being noticed:
// signals go in, the exit code or the killing signal comes out, standard streams are shared.
#pragma once
#include <sys/types.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace firstwait {

class Launch {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  // Blocks the signals that are passed on, for this thread and those it starts later, and ignores
  // those by which a write can end a process. `add` goes on
  // top of the environment.
  static Launch start(const std::vector<std::string>& command, const Environment& add);
  Launch(Launch&& other) noexcept;
  Launch& operator=(Launch&&) = delete;
  ~Launch();

  // 0: started; else the errno of why not.
  int error() const { return error_; }
  pid_t pid() const { return pid_; }
  // Passes signals on until the program has ended (true) or the time is over (false).
  bool wait(int milliseconds);
  // The program has ended: signals are for this process again.
  void release_signals();
  // What this process's caller should see: exits with the program's code, or dies of the signal
  // that killed it.
  [[noreturn]] void leave() const;

 private:
  Launch() = default;
  void pass_on_signals();
  bool reap();

  pid_t pid_ = -1;
  int error_ = 0, status_ = 0, signals_ = -1;
  bool ended_ = false;
  sigset_t before_{};
};

}  // namespace firstwait
