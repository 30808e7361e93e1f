// What a record costs: nanoseconds of processor time from C, alone and with eight threads at once,
// and whether a million a second are read without loss. Processor time, not wall time: a busy
// machine does not change it much.
#include <fmt/format.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "collect/instrument/rings.h"
#include "firstwait/emit.h"

namespace {

namespace fs = std::filesystem;

double clock_s(clockid_t id) {
  timespec t{};
  ::clock_gettime(id, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// The median of nine rounds, ns of this thread's processor time for each call.
template <typename Call>
double cost_ns(Call call) {
  constexpr int kCalls = 1'000'000;
  std::vector<double> rounds;
  for (int round = 0; round < 9; ++round) {
    const double start = clock_s(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < kCalls; ++i) call(i);
    rounds.push_back((clock_s(CLOCK_THREAD_CPUTIME_ID) - start) / kCalls * 1e9);
  }
  std::nth_element(rounds.begin(), rounds.begin() + 4, rounds.end());
  return rounds[4];
}

void costs() {
  const auto op = firstwait_name("bench", FIRSTWAIT_HOST);
  const double clock = cost_ns([](int) { (void)firstwait_now(); });
  const double full = cost_ns([op](int i) { firstwait_span_full(op, i, i + 1, 0, i, -1, 0); });
  const double span = cost_ns([op](int i) { firstwait_span(op, i); });
  fmt::print("clock alone                     {:6.1f} ns\n", clock);
  fmt::print("record with both times given    {:6.1f} ns\n", full);
  fmt::print("record that reads the clock     {:6.1f} ns   goal: 60\n", span);
  for (const int threads : {2, 4, 8}) {
    std::vector<double> each(static_cast<size_t>(threads));
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t)
      running.emplace_back([&each, t, op] {
        each[static_cast<size_t>(t)] = cost_ns([op](int i) { firstwait_span(op, i); });
      });
    for (auto& thread : running) thread.join();
    double sum = 0;
    for (const double ns : each) sum += ns;
    fmt::print("the same, {} threads at once     {:6.1f} ns each\n", threads, sum / threads);
  }
}

// A writer that keeps to a million a second, and a reader that looks every 10 ms.
void million(const std::string& folder) {
  constexpr int64_t kRecords = 5'000'000, kPerTick = 1000;
  const pid_t writer = ::fork();
  if (writer == 0) {
    firstwait_open(1 << 18);
    const auto op = firstwait_name("fast", FIRSTWAIT_HOST);
    const double start = clock_s(CLOCK_MONOTONIC);
    for (int64_t i = 0; i < kRecords; ++i) {
      firstwait_span_full(op, i, i, 0, i, -1, 0);
      if (i % kPerTick == kPerTick - 1)
        while (clock_s(CLOCK_MONOTONIC) - start < static_cast<double>(i) * 1e-6) ::sched_yield();
    }
    fmt::print("written in                      {:6.2f} s for {} records\n",
               clock_s(CLOCK_MONOTONIC) - start, kRecords);
    std::fflush(stdout);
    ::_exit(0);
  }
  std::vector<firstwait::RingReader> rings;
  const double cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID);
  uint64_t read = 0;
  for (bool gone = false;; ::usleep(10000)) {
    const bool last = gone;
    gone = gone || ::waitpid(writer, nullptr, WNOHANG) == writer;
    if (rings.empty())
      for (const auto& entry : fs::directory_iterator(folder))
        if (entry.path().filename().string().starts_with(std::to_string(writer) + "-") &&
            entry.path().extension() == ".ring")
          if (auto ring = firstwait::RingReader::open(entry.path().string()); ring.ok())
            rings.push_back(std::move(*ring));
    std::vector<firstwait::RingRecord> records;
    std::vector<firstwait::RingSetting> settings;
    for (auto& ring : rings) ring.poll(0, gone, records, settings);
    read += records.size();
    if (last) break;
  }
  fmt::print(
      "read                            {} of {}, lost {}, torn {}; {:.0f} ns of the reader each\n",
      read, kRecords, rings[0].lost(), rings[0].torn(),
      (clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu) / static_cast<double>(read) * 1e9);
}

}  // namespace

int main() {
  std::string folder = "/dev/shm/firstwait-bench-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  ::setenv("FIRSTWAIT_DIR", folder.c_str(), 1);
  if (const pid_t child = ::fork(); child == 0) {
    costs();
    std::fflush(stdout);
    ::_exit(0);
  } else {
    ::waitpid(child, nullptr, 0);
  }
  million(folder);
  fs::remove_all(folder);
  return 0;
}
