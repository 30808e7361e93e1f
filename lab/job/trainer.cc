// The training loop of one rank. Everything in it is real but the accelerator (device.h).
#include "trainer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "device.h"
#include "firstwait/emit.h"
#include "loader.h"
#include "ring.h"

namespace lab {
namespace {

namespace fs = std::filesystem;

double cpu_ms() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

struct Ops {
  firstwait_op h2d = firstwait_name("Tensor.to", FIRSTWAIT_H2D);
  firstwait_op forward = firstwait_name("Net.forward", FIRSTWAIT_FORWARD);
  firstwait_op backward = firstwait_name("backward", FIRSTWAIT_BACKWARD);
  firstwait_op reduce = firstwait_name("all_reduce", FIRSTWAIT_COLLECTIVE);
  firstwait_op ddp = firstwait_name("ddp", FIRSTWAIT_UNEXPLAINED);
  firstwait_op optimizer = firstwait_name("SGD.step", FIRSTWAIT_OPTIMIZER);
  firstwait_op save = firstwait_name("torch.save", FIRSTWAIT_CHECKPOINT);
  firstwait_op evaluate = firstwait_name("Net.forward (eval)", FIRSTWAIT_EVALUATION);
  firstwait_op collect = firstwait_name("gc.collect", FIRSTWAIT_GC);
  firstwait_op log = firstwait_name("logging", FIRSTWAIT_LOGGING);
};

class Trainer {
 public:
  Trainer(const Params& p, int rank)
      : p_(p),
        rank_(rank),
        control_(p.control, rank, p.start),
        device_(p.devices, p.addresses.empty() ? rank : 0) {}

  int run() {
    enter_groups();
    describe();
    Loader loader(p_, rank_);
    tell_processes(loader.workers());
    if (!ring_.connect(p_, rank_)) return complain("the other ranks did not come");
    std::vector<uint8_t> batch, device;
    for (int64_t step = 0; step < p_.steps; ++step) {
      const Knobs& k = control_.read();
      device_.set(k);
      if (!loader.next(batch)) return complain("no batch");
      bool last = k.stop;
      if (!train_step(k, batch, device, last)) return complain("a neighbour is gone");
      firstwait_step(step, p_.batch);
      if (last) break;
      after(k, step);
    }
    return 0;
  }

 private:
  int complain(const char* what) {
    std::fprintf(stderr, "lab-job: rank %d: %s\n", rank_, what);
    return 1;
  }

  void enter_groups() const {
    for (std::string group : p_.groups) {
      if (const size_t at = group.find('%'); at != std::string::npos)
        group.replace(at, 1, std::to_string(rank_));
      std::ofstream(group + "/cgroup.procs") << ::getpid() << std::endl;
    }
  }

  // What the hooks tell of a PyTorch program.
  void describe() const {
    firstwait_open(0);
    firstwait_setting(
        "firstwait.hooks",
        "loader,copies,model,backward,optimizer,distributed,checkpoint,collector,logs");
    firstwait_identity(rank_, p_.ranks, p_.addresses.empty() ? rank_ : 0, FIRSTWAIT_TRAINER);
    const auto set = [](const char* key, const std::string& value) {
      firstwait_setting(key, value.c_str());
    };
    set("world_size", std::to_string(p_.ranks));
    set("loader.num_workers", std::to_string(p_.workers));
    if (p_.workers > 0) set("loader.prefetch_factor", std::to_string(p_.prefetch));
    set("loader.persistent_workers", p_.workers > 0 ? "true" : "false");
    set("loader.batch_size", std::to_string(p_.batch));
    set("dataset.path", p_.data);
  }

  void tell_processes(const std::vector<pid_t>& workers) const {
    if (p_.state.empty()) return;
    const std::string path = p_.state + "/rank-" + std::to_string(rank_);
    std::ofstream file(path + ".new");
    file << ::getpid();
    for (const pid_t pid : workers) file << " " << pid;
    file << "\n";
    file.close();
    std::rename((path + ".new").c_str(), path.c_str());
  }

  bool train_step(const Knobs& k, const std::vector<uint8_t>& batch, std::vector<uint8_t>& device,
                  bool& last) {
    int64_t start = firstwait_now();
    device = batch;
    firstwait_span_full(ops_.h2d, start, 0, 0, -1, static_cast<int64_t>(batch.size()),
                        FIRSTWAIT_THREAD);
    start = firstwait_begin(ops_.forward);
    device_.compute(0.35 * k.compute_ms);
    firstwait_span(ops_.forward, start);
    start = firstwait_begin(ops_.backward);
    device_.compute(0.6 * k.compute_ms);
    int64_t own = firstwait_now();
    firstwait_span_full(ops_.backward, start, own, 0, -1, -1, FIRSTWAIT_THREAD);
    const auto count = static_cast<size_t>(k.gradient_mb * 262144) + 1;
    gradient_.resize(count);
    gradient_.back() = last ? 1 : 0;  // all ranks end with the same step
    if (!ring_.all_reduce(gradient_)) return false;
    last = gradient_.back() > 0;
    if (p_.ranks > 1)
      firstwait_span_full(ops_.reduce, own, 0, ops_.ddp, reductions_++,
                          static_cast<int64_t>(count * sizeof(float)), FIRSTWAIT_THREAD);
    start = firstwait_begin(ops_.optimizer);
    for (float& g : gradient_) g *= 0.5f;
    device_.compute(0.05 * k.compute_ms);
    firstwait_span(ops_.optimizer, start);
    return true;
  }

  // What happens between steps.
  void after(const Knobs& k, int64_t step) {
    const auto due = [step](int64_t every, int64_t turn = 0) {
      return every > 0 && step % every == turn % every;
    };
    if (k.log_lines > 0) log(k.log_lines, step);
    if (k.gc_every > 0 && step % k.gc_every == 0 && step / k.gc_every % p_.ranks == rank_) {
      const int64_t start = firstwait_now();
      for (const double until = cpu_ms() + k.gc_ms; cpu_ms() < until;)
        for (float& g : gradient_) g += 1e-9f;
      firstwait_span(ops_.collect, start);
    }
    if (due(k.evaluation_every, k.evaluation_every - 1)) {
      const int64_t start = firstwait_begin(ops_.evaluate);
      device_.evaluate(k.evaluation_ms);
      firstwait_span(ops_.evaluate, start);
    }
    if (rank_ == 0 && due(k.checkpoint_every, k.checkpoint_every - 1)) save(k.checkpoint_mb, step);
  }

  void save(double megabytes, int64_t step) {
    fs::create_directories(p_.checkpoints);
    const std::string path = p_.checkpoints + "/" + std::to_string(step);
    const int64_t start = firstwait_begin(ops_.save);
    std::vector<char> block(1 << 20, static_cast<char>(step));
    const int fd = ::open((path + ".new").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    bool ok = fd >= 0;
    for (double left = megabytes; ok && left > 0; left -= 1) {
      const auto bytes = static_cast<size_t>(std::min(1.0, left) * 1048576);
      ok = ::write(fd, block.data(), bytes) == static_cast<ssize_t>(bytes);
    }
    ok = ok && ::fsync(fd) == 0;
    if (fd >= 0) ::close(fd);
    ok = ok && std::rename((path + ".new").c_str(), path.c_str()) == 0;
    firstwait_span_full(ops_.save, start, 0, 0, ok ? 0 : 1,
                        static_cast<int64_t>(megabytes * 1048576), FIRSTWAIT_THREAD);
    if (!last_saved_.empty()) ::unlink(last_saved_.c_str());
    last_saved_ = path;
  }

  void log(int64_t lines, int64_t step) {
    if (rank_ != 0) return;
    if (log_ < 0) {
      fs::create_directories(p_.checkpoints);
      log_ = ::open((p_.checkpoints + "/train.log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    }
    const std::string line = "step " + std::to_string(step) + " loss 1.25\n";
    const int64_t start = firstwait_now();
    bool ok = true;
    for (int64_t i = 0; ok && i < lines; ++i)
      ok = ::write(log_, line.data(), line.size()) > 0 && ::fsync(log_) == 0;
    if (firstwait_now() - start >= 500'000) firstwait_span(ops_.log, start);
  }

  const Params& p_;
  int rank_;
  Control control_;
  Device device_;
  Ring ring_;
  Ops ops_;
  std::vector<float> gradient_;
  int64_t reductions_ = 0;
  int log_ = -1;
  std::string last_saved_;
};

}  // namespace

int train(const Params& p, int rank) { return Trainer(p, rank).run(); }

}  // namespace lab
