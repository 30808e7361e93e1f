#include "apps/launch.h"

#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace firstwait {
namespace {

constexpr int kPassedOn[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                             SIGUSR2, SIGALRM, SIGCONT, SIGWINCH};

// Neither a full disk nor a reader that is gone may end what watches over the program.
constexpr int kIgnored[] = {SIGPIPE, SIGXFSZ};

// Ignores them here; those that were not ignored before are the program's again.
sigset_t ignore_for_us() {
  sigset_t restored;
  sigemptyset(&restored);
  for (const int signal : kIgnored)
    if (::signal(signal, SIG_IGN) != SIG_IGN) sigaddset(&restored, signal);
  return restored;
}

std::vector<std::string> environment_with(const Launch::Environment& add) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    bool replaced = false;
    for (const auto& [name, value] : add)
      replaced |= text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=';
    if (!replaced) out.emplace_back(text);
  }
  for (const auto& [name, value] : add) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const auto& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace

Launch Launch::start(const std::vector<std::string>& command, const Environment& add) {
  Launch l;
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  for (const int signal : kPassedOn) sigaddset(&watched, signal);
  ::pthread_sigmask(SIG_BLOCK, &watched, &l.before_);
  l.signals_ = ::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  const auto environment = environment_with(add);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &l.before_);
  const sigset_t restored = ignore_for_us();
  ::posix_spawnattr_setsigdefault(&attributes, &restored);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  l.error_ = ::posix_spawnp(&l.pid_, command.front().c_str(), nullptr, &attributes,
                            pointers(command).data(), pointers(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  return l;
}

Launch::Launch(Launch&& other) noexcept
    : pid_(other.pid_),
      error_(other.error_),
      status_(other.status_),
      signals_(std::exchange(other.signals_, -1)),
      ended_(other.ended_),
      before_(other.before_) {}

Launch::~Launch() {
  if (signals_ >= 0) ::close(signals_);
}

bool Launch::reap() {
  if (!ended_ && ::waitpid(pid_, &status_, WNOHANG) == pid_) ended_ = true;
  return ended_;
}

// What the terminal sends goes to the whole foreground group: the program has it already.
void Launch::pass_on_signals() {
  signalfd_siginfo info{};
  while (::read(signals_, &info, sizeof info) == sizeof info) {
    const auto signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD || info.ssi_code > 0 || ended_) continue;
    if (static_cast<pid_t>(info.ssi_pid) != pid_) ::kill(pid_, signal);
  }
}

bool Launch::wait(int milliseconds) {
  if (reap()) return true;
  pollfd ready{signals_, POLLIN, 0};
  if (::poll(&ready, 1, milliseconds) > 0) pass_on_signals();
  return reap();
}

void Launch::release_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void Launch::leave() const {
  std::fflush(nullptr);
  if (error_ != 0) ::_exit(error_ == ENOENT ? 127 : 126);  // as shells have it
  if (WIFSIGNALED(status_)) {
    // The program has dumped its core already, if it should.
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::prctl(PR_SET_DUMPABLE, 0);
    const int signal = WTERMSIG(status_);
    ::signal(signal, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
    ::kill(::getpid(), signal);
    ::_exit(128 + signal);
  }
  ::_exit(WEXITSTATUS(status_));
}

}  // namespace firstwait
