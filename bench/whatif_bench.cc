// Op records: `firstwait diagnose` with all what-if results as a whole process, beside DuckDB
// reading the same file alone in a process of its own, at four sizes of a made-up job (the second
// is as large as a published one, the last ten times that). Then graph and replays alone, on one
// thread. `whatif_bench FILE...` takes existing Parquet files instead; `whatif_bench --short` only
// shows that it runs. Times are medians.
#include <fmt/format.h>

#include <ctime>

#include "attribute/testing/made_up.h"
#include "attribute/what_if.h"
#include "attribute/whatif/graph.h"
#include "attribute/whatif/job.h"
#include "attribute/whatif/replay.h"
#include "attribute/whatif/results.h"
#include "bench/measure.h"
#include "import/duckdb.h"
#include "import/import.h"

namespace firstwait {
namespace {

using bench::median;
using bench::ProcessCost;

ProcessCost duckdb_alone(int runs, const std::string& file) {
  return bench::measure(runs, [&] {
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
bool make_job(const bench::Folder& folder, const std::string& parquet, int32_t steps) {
  const Evidence e = whatif::made_up_job(
      4, 4, 32, steps, [](int32_t d, int32_t s, int32_t b, int32_t n, bool back) {
        const auto hash = static_cast<uint32_t>(d * 7919 + s * 104729 + b * 1299709 + n * 15485863 +
                                                (back ? 1 : 0)) *
                          2654435761U;
        const double noise = 1 + 0.02 * static_cast<double>(hash >> 8) / (1 << 24);
        return (back ? 0.4 : 0.2) * noise * (d == 0 && s == 0 ? 2.3 : 1);
      });
  const std::string csv = folder.file("ops.csv");
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
                                   sql_text(csv), sql_text(parquet)))
           : Status(duck.error());
  if (!status) fmt::print(stderr, "whatif_bench: {}\n", status.error().what);
  return status.ok();
}

// CPU time of this thread: what else runs on the machine hardly matters.
double thread_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

bool graph_and_replays(const std::string& file, int runs) {
  Evidence e;
  if (!import_inputs({file}, {}, e) || e.ops.size() == 0) return false;
  std::vector<double> load, graph_s, replay, whole;
  for (int i = 0; i < runs; ++i) {
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
      "    {} rows, CPU on one thread: columns {:.1f} ms, graph {:.1f} ms, all replays {:.1f} ms; "
      "with "
      "worker steps and critical path {:.1f} ms\n",
      e.ops.size(), median(load), median(graph_s), median(replay), median(whole));
  return true;
}

bool compare(const std::string& what, const std::string& file, int runs) {
  const ProcessCost whole = bench::diagnose(runs, file), duck = duckdb_alone(runs, file);
  fmt::print(
      "{}: diagnose {:.3f} s (CPU {:.3f} s, peak {:.0f} MiB), DuckDB reading alone {:.3f} s (CPU "
      "{:.3f} s), ratio {:.2f}\n",
      what, whole.wall_s, whole.cpu_s, whole.peak_mib, duck.wall_s, duck.cpu_s,
      whole.wall_s / duck.wall_s);
  return bench::in_child([&] { return graph_and_replays(file, runs); }) && whole.ok && duck.ok;
}

bool made_up(const std::vector<int32_t>& sizes, int runs) {
  const bench::Folder folder;
  const std::string file = folder.file("ops.parquet");
  bool ok = true;
  for (const int32_t steps : sizes)
    ok = bench::in_child([&] { return make_job(folder, file, steps); }) &&
         compare(fmt::format("{:3} steps", steps), file, runs) && ok;
  return ok;
}

bool existing(const std::vector<std::string>& files) {
  bool ok = true;
  for (const auto& file : files)
    ok = compare(std::filesystem::path(file).filename().string(), file, 15) && ok;
  return ok;
}

}  // namespace
}  // namespace firstwait

int main(int argc, char** argv) {
  const std::vector<std::string> given(argv + 1, argv + argc);
  if (given.empty()) return firstwait::made_up({11, 44, 176, 440}, 9) ? 0 : 1;
  if (given.front() == "--short") return firstwait::made_up({3}, 1) ? 0 : 1;
  return firstwait::existing(given) ? 0 : 1;
}
