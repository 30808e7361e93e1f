#include "apps/attach.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "apps/commands.h"
#include "apps/run_report.h"
#include "collect/instrument/bundle_writer.h"
#include "collect/processes.h"
#include "collect/sampler.h"

namespace firstwait {
namespace {

// The script that the process runs, else its program.
std::string name_of(int pid) {
  std::ifstream in(fmt::format("/proc/{}/cmdline", pid), std::ios::binary);
  std::string word, first;
  while (std::getline(in, word, '\0')) {
    if (first.empty()) first = word;
    if (word.ends_with(".py")) first = word;
    if (word.ends_with(".py")) break;
  }
  const std::string name = std::filesystem::path(first).stem().string();
  return name.empty() ? fmt::format("pid-{}", pid) : name;
}

// Until the process has ended, the time is over or the user stops it.
void wait_for(int process, double seconds) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  const int signals = ::signalfd(-1, &stop, SFD_CLOEXEC);
  pollfd events[2] = {{process, POLLIN, 0}, {signals, POLLIN, 0}};
  const double limit = std::min(seconds, 2e6);  // milliseconds fit an int
  (void)::poll(events, 2, seconds > 0 ? static_cast<int>(limit * 1000) : -1);
  if (signals >= 0) ::close(signals);
}

}  // namespace

int attach_command(const AttachOptions& options) {
  const auto process = static_cast<int>(::syscall(SYS_pidfd_open, options.pid, 0));
  if (process < 0)
    return fail(
        {std::strerror(errno), fmt::format("process {}", options.pid), "name a running process"});
  const std::string name = options.name.empty() ? name_of(options.pid) : options.name;
  const std::string bundle = options.out.empty() ? bundle_folder(name) : options.out;
  auto writer = BundleWriter::open(bundle, name, {});
  if (!writer) return fail(writer.error());
  tell(
      "watching from outside: steps and phases are not seen; start the program with `firstwait "
      "run`, "
      "or add its training log to the bundle");
  sigset_t stop;
  sigset_t before;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &stop, &before);
  auto processes = std::make_shared<Processes>(
      Processes::Options{.roots = {options.pid}, .commands = {}, .discover = false});
  Sampler sampler({.world = {.host = this_host(), .processes = processes}});
  sampler.start();
  wait_for(process, options.seconds);
  sampler.stop();
  ::close(process);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::error_code ignored;
  std::filesystem::create_directories(bundle + "/node", ignored);
  if (auto written = sampler.write_bundle(bundle + "/node"); !written) return fail(written.error());
  report_bundle(bundle, options.format, options.report);
  return kAnalysed;
}

}  // namespace firstwait
