#include "loader.h"

#include <semaphore.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "firstwait/emit.h"

namespace lab {
namespace {

double cpu_ms() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

// Augmentation: brightness, contrast and a blur, over and over, until it has cost what it should.
void augment(uint8_t* data, size_t bytes, double ms) {
  const double until = cpu_ms() + ms;
  for (unsigned turn = 1; cpu_ms() < until; ++turn)
    for (size_t at = size_t{turn % 16} * 4096, end = std::min(bytes, at + 4096); at + 2 < end; ++at)
      data[at] =
          static_cast<uint8_t>((data[at] * 3u + data[at + 1] + data[at + 2] * turn) / 5u + 1u);
}

}  // namespace

BatchMaker::BatchMaker(const Params& p, int rank) : p_(p), rank_(rank), reader_(p) {}

void BatchMaker::transform(std::vector<uint8_t>& batch, double ms, int64_t threads) {
  if (threads <= 1) return augment(batch.data(), batch.size(), ms);
  // As OpenMP does it: each thread its part, and those that are ready spin until all are.
  std::atomic<int64_t> left{threads};
  const size_t part = batch.size() / static_cast<size_t>(threads);
  std::vector<std::thread> others;
  const auto run = [&](int64_t i) {
    augment(batch.data() + static_cast<size_t>(i) * part, part, ms / static_cast<double>(threads));
    left.fetch_sub(1);
    while (left.load(std::memory_order_relaxed) > 0) continue;
  };
  for (int64_t i = 1; i < threads; ++i) others.emplace_back(run, i);
  run(0);
  for (auto& t : others) t.join();
}

bool BatchMaker::make(int64_t number, const Knobs& knobs, std::vector<uint8_t>& out) {
  out.clear();
  firstwait_batch_begin();
  bool ok = true;
  for (int i = 0; ok && i < p_.batch; ++i) {
    // Each rank has its share, in an order that no read-ahead guesses.
    const int64_t record = ((number * p_.batch + i) * p_.ranks + rank_) * 37;
    ok = reader_.read(record, knobs.drop);
    firstwait_batch_part(FIRSTWAIT_DECODE);
    ok = ok && reader_.unpack(out);
    firstwait_batch_part_end(FIRSTWAIT_DECODE);
  }
  if (ok) transform(out, knobs.transform_ms, knobs.transform_threads);
  firstwait_batch_end();
  return ok;
}

// One batch on its way from a worker to the training thread.
struct Loader::Slot {
  sem_t filled, free;
  int32_t ok;
  uint64_t bytes;
};
struct Loader::Shared {
  std::atomic<int32_t> ending;
};

Loader::Slot* Loader::slot(int worker, int64_t batch) const {
  const int64_t index = int64_t{worker} * p_.prefetch + batch / p_.workers % p_.prefetch;
  return reinterpret_cast<Slot*>(reinterpret_cast<char*>(shared_) + 4096 +
                                 static_cast<size_t>(index) * slot_bytes_);
}

Loader::Loader(const Params& p, int rank) : p_(p), rank_(rank), control_(p.control, rank, p.start) {
  if (p.workers == 0) {
    own_ = std::make_unique<BatchMaker>(p, rank);
    return;
  }
  const auto batch = static_cast<size_t>(p.batch) * static_cast<size_t>(p.record_bytes);
  slot_bytes_ = 4096 + (batch + 4095) / 4096 * 4096;
  bytes_ = 4096 + static_cast<size_t>(p.workers * p.prefetch) * slot_bytes_;
  void* at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) std::abort();
  shared_ = static_cast<Shared*>(at);
  for (int w = 0; w < p.workers; ++w)
    for (int i = 0; i < p.prefetch; ++i) {
      Slot* s = slot(w, int64_t{i} * p.workers);
      ::sem_init(&s->filled, 1, 0);
      ::sem_init(&s->free, 1, 1);
    }
  for (int w = 0; w < p.workers; ++w) {
    const pid_t parent = ::getpid(), pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(0);
      work(w);
    }
    pids_.push_back(pid);
  }
}

Loader::~Loader() {
  for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
  for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
  if (shared_ != nullptr) ::munmap(shared_, bytes_);
}

void Loader::work(int worker) {
  firstwait_open(2048);
  firstwait_identity(-1, -1, -1, FIRSTWAIT_LOADER);
  BatchMaker maker(p_, rank_);
  std::vector<uint8_t> batch;
  for (int64_t number = worker;; number += p_.workers) {
    Slot* s = slot(worker, number);
    while (::sem_wait(&s->free) != 0) continue;
    s->ok = maker.make(number, control_.read(), batch) ? 1 : 0;
    s->bytes = batch.size();
    std::memcpy(reinterpret_cast<char*>(s) + 4096, batch.data(), batch.size());
    ::sem_post(&s->filled);
  }
}

int Loader::queued() const {
  int n = 0;
  for (int w = 0; w < p_.workers; ++w)
    for (int i = 0; i < p_.prefetch; ++i) {
      int value = 0;
      ::sem_getvalue(&slot(w, int64_t{i} * p_.workers)->filled, &value);
      n += value > 0 ? 1 : 0;
    }
  return n;
}

bool Loader::take(std::vector<uint8_t>& out) {
  if (own_) return own_->make(taken_, control_.read(), out);
  Slot* s = slot(static_cast<int>(taken_ % p_.workers), taken_);
  for (;;) {
    timespec until{};
    ::clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    if (::sem_timedwait(&s->filled, &until) == 0) break;
    for (const pid_t pid : pids_)
      if (::waitpid(pid, nullptr, WNOHANG) == pid) return false;
  }
  out.assign(reinterpret_cast<uint8_t*>(s) + 4096, reinterpret_cast<uint8_t*>(s) + 4096 + s->bytes);
  const bool ok = s->ok == 1;
  ::sem_post(&s->free);
  return ok;
}

bool Loader::next(std::vector<uint8_t>& out) {
  static const firstwait_op iter = firstwait_name("DataLoader.__iter__", FIRSTWAIT_INPUT_WAIT),
                            op = firstwait_name("DataLoader.__next__", FIRSTWAIT_INPUT_WAIT);
  const int64_t batches = std::max<int64_t>(1, p_.records / (int64_t{p_.batch} * p_.ranks));
  if (taken_ % batches == 0)  // an epoch begins
    firstwait_span_full(iter, firstwait_begin(iter), 0, 0, 0, -1, FIRSTWAIT_THREAD);
  const int waiting = own_ ? -1 : queued();
  const int64_t start = firstwait_begin(op);
  const bool ok = take(out);
  firstwait_span_full(op, start, 0, 0, 0, waiting, FIRSTWAIT_THREAD);
  ++taken_;
  return ok;
}

}  // namespace lab
