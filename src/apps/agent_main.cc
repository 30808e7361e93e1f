// The command line of `firstwait-agent`: reads the configuration, starts the service, waits for
// signals.
#include <signal.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "agent/agent.h"

namespace firstwait {
namespace {

int run(int argc, char** argv) {
  CLI::App app{"Samples this machine and its training processes; serves /metrics and pushes OTLP."};
  app.name("firstwait-agent");
  app.set_version_flag("--version", "firstwait-agent " FIRSTWAIT_VERSION);
  std::string file, listen;
  bool check = false;
  app.add_option("--config", file, "Configuration file")->envname("FIRSTWAIT_AGENT_CONFIG");
  app.add_option("--listen", listen, "Address and port of /metrics; default 127.0.0.1:9476")
      ->envname("FIRSTWAIT_AGENT_LISTEN");
  app.add_flag("--check", check, "Check the configuration and exit");
  CLI11_PARSE(app, argc, argv);

  // Every thread inherits the mask: signals are taken here alone.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, s);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);

  // Three files stay open for each process that is watched.
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, 16384);
    ::setrlimit(RLIMIT_NOFILE, &files);
  }

  const auto load = [&]() -> Result<AgentConfig> {
    auto config = file.empty() ? default_config() : read_config(file);
    if (config && !listen.empty()) config->listen = listen;
    return config;
  };
  const auto complain = [](const Error& e) {
    std::fprintf(stderr, "firstwait-agent: %s (%s). %s\n", e.what.c_str(), e.where.c_str(),
                 e.remedy.c_str());
  };
  auto config = load();
  if (!config) return complain(config.error()), 2;
  if (check) return std::puts("the configuration is valid"), 0;
  auto agent = Agent::start(*config);
  if (!agent) return complain(agent.error()), 2;
  std::fprintf(stderr, "firstwait-agent: %s\n", (*agent)->describe().c_str());
  for (int signal = 0; sigwait(&signals, &signal) == 0 && signal == SIGHUP;) {
    auto changed = load();
    const Status status = changed ? (*agent)->reconfigure(*changed) : Status(changed.error());
    if (!status)
      complain(status.error());  // what ran keeps running
    else
      std::fprintf(stderr, "firstwait-agent: reloaded; %s\n", (*agent)->describe().c_str());
  }
  (*agent)->stop();
  return 0;
}

}  // namespace
}  // namespace firstwait

int main(int argc, char** argv) { return firstwait::run(argc, argv); }
