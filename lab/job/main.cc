// lab-job: a data-parallel training job whose every part but the accelerator is real. It reports
// what the hooks into PyTorch report, so that `firstwait run` sees it as it sees a PyTorch program.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "params.h"
#include "records.h"
#include "trainer.h"

namespace {

void add_options(CLI::App& app, lab::Params& p) {
  app.add_option("--rank", p.rank, "Start this rank only");
  app.add_option("--ranks", p.ranks)->check(CLI::Range(1, 64));
  app.add_option("--addresses", p.addresses, "Of all ranks")->delimiter(',');
  app.add_option("--port", p.port);
  app.add_option("--data", p.data)->required();
  app.add_option("--layout", p.layout)->check(CLI::IsMember({"file", "files"}));
  app.add_option("--records", p.records)->check(CLI::PositiveNumber);
  app.add_option("--record-bytes", p.record_bytes)->check(CLI::Range(4096, 1 << 28));
  app.add_option("--batch", p.batch)->check(CLI::PositiveNumber);
  app.add_option("--workers", p.workers)->check(CLI::Range(0, 64));
  app.add_option("--prefetch", p.prefetch)->check(CLI::Range(1, 16));
  app.add_flag("--direct", p.direct, "Read past the page cache");
  app.add_flag("--mapped", p.mapped, "Map the file");
  app.add_option("--checkpoints", p.checkpoints)->required();
  app.add_option("--state", p.state);
  app.add_option("--control", p.control);
  app.add_option("--devices", p.devices);
  app.add_option("--groups", p.groups)->delimiter(',');
  app.add_option("--steps", p.steps);
  app.add_option("--compute-ms", p.start.compute_ms);
  app.add_option("--transform-ms", p.start.transform_ms);
  app.add_option("--transform-threads", p.start.transform_threads);
  app.add_option("--checkpoint-mb", p.start.checkpoint_mb);
  app.add_option("--checkpoint-every", p.start.checkpoint_every);
  app.add_option("--gradient-mb", p.start.gradient_mb);
}

void set_rank(const lab::Params& p, int rank) {
  const auto set = [](const char* name, int value) {
    ::setenv(name, std::to_string(value).c_str(), 1);
  };
  set("RANK", rank);
  set("WORLD_SIZE", p.ranks);
  set("LOCAL_RANK", p.addresses.empty() ? rank : 0);
}

// All ranks on this machine, each a process; ends when the first of them fails.
int launch(const lab::Params& p, char** argv) {
  std::vector<std::string> words;
  for (char** word = argv; *word != nullptr; ++word) words.emplace_back(*word);
  std::vector<pid_t> ranks;
  for (int r = 0; r < p.ranks; ++r) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      set_rank(p, r);
      const std::string own = std::to_string(r);
      std::vector<char*> args;
      for (auto& word : words) args.push_back(word.data());
      char option[] = "--rank";
      std::string number = own;
      args.insert(args.end(), {option, number.data(), nullptr});
      ::execv("/proc/self/exe", args.data());  // its environment says who it is
      ::_exit(127);
    }
    ranks.push_back(pid);
  }
  int worst = 0;
  for (size_t left = ranks.size(); left > 0; --left) {
    int status = 0;
    const pid_t pid = ::wait(&status);
    if (pid < 0) break;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (code != 0 && worst == 0)
      for (const pid_t other : ranks)
        if (other != pid) ::kill(other, SIGTERM);
    worst = std::max(worst, code);
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"A data-parallel training job with an emulated accelerator"};
  lab::Params p;
  bool make = false;
  add_options(app, p);
  app.add_flag("--make", make, "Only make the data set");
  CLI11_PARSE(app, argc, argv);
  if (!p.addresses.empty() && static_cast<int>(p.addresses.size()) != p.ranks) {
    std::fprintf(stderr, "lab-job: --addresses names %zu ranks of %d\n", p.addresses.size(),
                 p.ranks);
    return 2;
  }
  if (make) return lab::make_records(p) ? 0 : 1;
  if (p.rank < 0) return launch(p, argv);
  set_rank(p, p.rank);
  return lab::train(p, p.rank);
}
