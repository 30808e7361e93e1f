// `diagnose` of op records with all what-if results, as a whole process, beside DuckDB reading the
// same file alone in a process of its own, at four sizes of a made-up job (the second is as large
// as the published trace AR). Then graph and replays alone, on one thread. Times are medians.
// `whatif_bench FILE...` takes existing Parquet files instead.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "attribute/testing/made_up.h"
#include "attribute/what_if.h"
#include "attribute/whatif/graph.h"
#include "attribute/whatif/job.h"
#include "attribute/whatif/replay.h"
#include "attribute/whatif/results.h"
#include "import/duckdb.h"
#include "import/import.h"

namespace firstwait {
namespace {

namespace fs = std::filesystem;
constexpr int kRuns = 9;

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRuns / 2, values.end());
  return values[kRuns / 2];
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct ProcessCost {
  double wall_s = 0, cpu_s = 0, peak_mib = 0;
  bool ok = false;
};

double cpu_seconds(const rusage& u) {
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(u.ru_utime) + seconds(u.ru_stime);
}

// The median of runs of a child process.
ProcessCost measure(const std::function<void()>& child) {
  std::vector<double> wall, cpu, peak;
  bool ok = true;
  for (int i = 0; i < kRuns; ++i) {
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
    cpu.push_back(cpu_seconds(usage));
    peak.push_back(static_cast<double>(usage.ru_maxrss) / 1024);
  }
  return {median(wall), median(cpu), median(peak), ok};
}

ProcessCost diagnose(const std::string& file) {
  std::error_code error;
  const std::string program =
      (fs::read_symlink("/proc/self/exe", error).parent_path() / "firstwait").string();
  return measure([&] {
    ::execl(program.c_str(), program.c_str(), "diagnose", file.c_str(), "--format", "json",
            nullptr);
  });
}

ProcessCost duckdb_alone(const std::string& file) {
  return measure([&] {
    auto duck = Duck::open();
    if (!duck) ::_exit(1);
    size_t rows = 0;
    const auto status =
        duck->query("SELECT * FROM read_parquet(" + sql_text(file) + ")", [&](const DuckChunk& c) {
          rows += c.rows();
          return true;
        });
    ::_exit(status.ok() && rows > 0 ? 0 : 1);
  });
}

// One slow worker in a job of 4 x 4 workers and 32 microbatches, written as Parquet.
std::string make_job(const fs::path& folder, int32_t steps) {
  const Evidence e = whatif::made_up_job(
      4, 4, 32, steps, [](int32_t d, int32_t s, int32_t b, int32_t n, bool back) {
        const auto hash = static_cast<uint32_t>(d * 7919 + s * 104729 + b * 1299709 + n * 15485863 +
                                                (back ? 1 : 0)) *
                          2654435761U;
        const double noise = 1 + 0.02 * static_cast<double>(hash >> 8) / (1 << 24);
        return (back ? 0.4 : 0.2) * noise * (d == 0 && s == 0 ? 2.3 : 1);
      });
  const fs::path csv = folder / "ops.csv", parquet = folder / fmt::format("ops-{}.parquet", steps);
  std::string text = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";
  const OpTable& t = e.ops;
  for (size_t i = 0; i < t.size(); ++i)
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{},{},{}\n", t.dp_rank[i],
                   t.stage[i], t.rank[i], t.step[i], e.names[t.optype[i]], t.start[i],
                   t.duration[i], t.seq[i], t.model_chunk[i], t.microbatch[i],
                   t.global_model_chunk[i]);
  if (FILE* f = std::fopen(csv.c_str(), "w")) {
    std::fwrite(text.data(), 1, text.size(), f);
    std::fclose(f);
  }
  auto duck = Duck::open();
  const auto status =
      duck ? duck->run(fmt::format("COPY (SELECT dp_rank::TINYINT AS dp_rank, stage::TINYINT AS "
                                   "stage, rank::SMALLINT AS rank, step, optype, "
                                   "start_ts::FLOAT AS start_ts, duration::FLOAT AS duration, "
                                   "seq_id, mc::TINYINT AS mc, mb_id, gmc::SMALLINT AS gmc "
                                   "FROM read_csv({})) TO {} (FORMAT parquet)",
                                   sql_text(csv.string()), sql_text(parquet.string())))
           : Status(duck.error());
  if (!status) fmt::print(stderr, "whatif_bench: {}\n", status.error().what);
  return parquet.string();
}

// CPU time of this thread: what else runs on the machine hardly matters.
double thread_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

void graph_and_replays(const Evidence& e) {
  std::vector<double> load, graph_s, replay, whole;
  for (int i = 0; i < kRuns; ++i) {
    double at = thread_seconds();
    const auto job = whatif::load_job(e);
    load.push_back(1e3 * (thread_seconds() - at));
    at = thread_seconds();
    const auto graph = whatif::build_graph(*job);
    graph_s.push_back(1e3 * (thread_seconds() - at));
    at = thread_seconds();
    const auto own = whatif::own_durations(*job, *graph);
    (void)whatif::replay_results(*job, *graph, own);
    replay.push_back(1e3 * (thread_seconds() - at));
    at = thread_seconds();
    (void)analyse_ops(e);
    whole.push_back(1e3 * (thread_seconds() - at));
  }
  fmt::print(
      "    CPU on one thread: columns {:.1f} ms, graph {:.1f} ms, all replays {:.1f} ms; with "
      "worker steps and "
      "critical path {:.1f} ms\n",
      median(load), median(graph_s), median(replay), median(whole));
}

int run(const std::vector<std::string>& given) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("whatif-bench-{}", ::getpid());
  fs::create_directories(folder);
  std::vector<std::string> files = given;
  if (files.empty())
    for (const int32_t steps : {11, 44, 176, 440}) files.push_back(make_job(folder, steps));
  bool ok = true;
  double first_rows = 0, first_s = 0;
  for (const auto& file : files) {
    Evidence e;
    const auto imported = import_inputs({file}, {}, e);
    const ProcessCost whole = diagnose(file), duck = duckdb_alone(file);
    ok = ok && imported.ok() && e.ops.size() > 0 && whole.ok && duck.ok;
    const auto rows = static_cast<double>(e.ops.size());
    fmt::print(
        "{:>9} rows: diagnose {:.3f} s (CPU {:.3f} s, {:.0f} MiB), DuckDB reading alone {:.3f} s "
        "(CPU {:.3f} s), ratio {:.2f}",
        e.ops.size(), whole.wall_s, whole.cpu_s, whole.peak_mib, duck.wall_s, duck.cpu_s,
        whole.wall_s / duck.wall_s);
    if (first_rows > 0)
      fmt::print(", {:.1f} times the rows, {:.1f} times the time", rows / first_rows,
                 whole.wall_s / first_s);
    fmt::print("\n");
    graph_and_replays(e);
    std::fflush(stdout);
    if (first_rows == 0) {
      first_rows = rows;
      first_s = whole.wall_s;
    }
  }
  std::error_code error;
  fs::remove_all(folder, error);
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace firstwait

int main(int argc, char** argv) { return firstwait::run({argv + 1, argv + argc}); }
