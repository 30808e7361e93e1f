#include "collect/processes.h"
#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_process;
namespace {

std::string stat_line(int pid, const std::string& comm, int parent, int64_t ticks, int threads,
                      int64_t started, int64_t io_ticks = 0, char state = 'S') {
  std::string out = std::to_string(pid) + " (" + comm + ") " + state + " " +
                    std::to_string(parent) + " 1 1 0 -1 4194304 100 0 7 0 " +
                    std::to_string(ticks) + " 5 0 0 20 0 " + std::to_string(threads) + " 0 " +
                    std::to_string(started) +
                    " 1000000 250 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 " +
                    std::to_string(io_ticks) + " 0 0 0 0 0 0 0 0 0 0\n";
  return out;
}

struct Fake {
  Tree tree;
  std::shared_ptr<Processes> processes = std::make_shared<Processes>();
  World world() const { return {Root::at(tree.path()), "node01", "", processes}; }
  void process(int pid, const std::string& comm, int parent, const std::string& command,
               const std::string& environ, int64_t ticks = 100, int threads = 1,
               int64_t started = 5000, int64_t io_ticks = 0) {
    const std::string at = "proc/" + std::to_string(pid) + "/";
    std::string nul = command;
    std::replace(nul.begin(), nul.end(), ' ', '\0');
    tree.file(at + "stat", stat_line(pid, comm, parent, ticks, threads, started, io_ticks))
        .file(at + "cmdline", nul)
        .file(at + "environ", environ)
        .file(at + "io",
              "rchar: 5000\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: "
              "0\ncancelled_write_bytes: 0\n")
        .file(at + "schedstat", "900 2000000000 5\n")
        .file(at + "status",
              "Name:\tx\nvoluntary_ctxt_switches:\t9\nnonvoluntary_ctxt_switches:\t4\n");
  }
};

std::string ranked(int rank) {
  using namespace std::string_literals;
  return "PATH=/bin\0RANK="s + std::to_string(rank) + "\0LOCAL_RANK="s + std::to_string(rank) +
         "\0WORLD_SIZE=2\0SLURM_JOB_NAME=resnet\0CUDA_VISIBLE_DEVICES=4,5\0"s;
}

TEST(Processes, TrainerWorkersAndTheRestAreFoundByRankAndTree) {
  Fake f;
  f.process(2, "kthreadd", 0, "", "");
  f.process(10, "torchrun", 1, "/usr/bin/python3 /usr/bin/torchrun train.py", "");
  f.process(11, "python3", 10, "python3 train.py", ranked(0));
  f.process(12, "pt_main_thread", 10, "python3 train.py", ranked(1));
  f.process(21, "pt_data_worker", 11, "python3 train.py", ranked(0));
  f.process(22, "python3", 12, "python3 -c from multiprocessing.spawn import spawn_main",
            ranked(1));
  f.process(23, "python3", 12, "python3 -c from multiprocessing.resource_tracker import main",
            ranked(1));
  f.process(30, "bash (odd) name", 1, "bash", "HOME=/root");
  f.processes->search(Root::at(f.tree.path()));
  std::map<int, std::pair<int, std::string>> got;
  for (const auto& p : f.processes->list()) got[p.pid] = {p.rank, std::string(name(p.role))};
  const std::map<int, std::pair<int, std::string>> want = {{11, {0, "trainer"}},
                                                           {12, {1, "trainer"}},
                                                           {21, {0, "loader"}},
                                                           {22, {1, "loader"}},
                                                           {23, {1, "other"}}};
  EXPECT_EQ(got, want);
  EXPECT_EQ(f.processes->list()[0].job, "resnet");
  EXPECT_EQ(f.processes->gpu_of(f.processes->list()[1]), "5");
}

TEST(Processes, ARootWithoutRanksTrainsAsRankZeroAndATrainerUnderAShellIsFound) {
  Fake f;
  f.process(50, "bash", 1, "bash run.sh", "");
  f.process(51, "python3", 50, "python3 train.py", "");
  f.process(52, "python3", 51, "python3 train.py", "");
  f.processes->add_root(50);
  f.processes->search(Root::at(f.tree.path()));
  const auto list = f.processes->list();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].role, ProcessRole::other);
  EXPECT_EQ(list[1].role, ProcessRole::trainer);
  EXPECT_EQ(list[2].role, ProcessRole::loader);
  EXPECT_EQ(list[1].rank, 0);
}

TEST(Processes, MpiRanksThatAreNoPythonTrain) {
  Fake f;
  using namespace std::string_literals;
  f.process(60, "all_reduce_perf", 1, "./all_reduce_perf",
            "OMPI_COMM_WORLD_RANK=3\0OMPI_COMM_WORLD_SIZE=8\0"s);
  f.processes->search(Root::at(f.tree.path()));
  ASSERT_EQ(f.processes->list().size(), 1u);
  EXPECT_EQ(f.processes->list()[0].role, ProcessRole::trainer);
  EXPECT_EQ(f.processes->list()[0].rank, 3);
}

TEST(Process, CountersAreSummedOverWorkersAndGoOnWhenOneEnds) {
  Fake f;
  f.process(11, "python3", 1, "python3 train.py", ranked(0), 1000, 1);
  f.process(21, "pt_data_worker", 11, "python3 train.py", ranked(0), 200);
  f.process(22, "pt_data_worker", 11, "python3 train.py", ranked(0), 300);
  Bench bench(collector_process, f.world());
  auto got = bench.sample();
  const std::string l = "{rank=\"0\",role=\"loader\"}";
  EXPECT_EQ(got.at("firstwait_process_cpu_seconds_total" + l), 5.1);
  EXPECT_EQ(got.at("firstwait_process_runqueue_seconds_total" + l), 4);
  EXPECT_EQ(got.at("firstwait_process_read_bytes_total" + l), 8192);
  EXPECT_EQ(got.at("firstwait_process_read_chars_total" + l), 10000);
  EXPECT_EQ(got.at("firstwait_process_involuntary_context_switches_total" + l), 8);
  EXPECT_EQ(got.at("firstwait_processes" + l), 2);
  EXPECT_EQ(got.at("firstwait_process_threads" + l), 2);
  EXPECT_EQ(got.at("firstwait_rank_info{train_job=\"resnet\",rank=\"0\",pid=\"11\",gpu=\"4\"}"), 1);
  f.tree.file("proc/22/stat", "");  // a file of /proc that is still open reads so
  f.process(21, "pt_data_worker", 11, "python3 train.py", ranked(0), 250);
  got = bench.sample();
  EXPECT_EQ(got.at("firstwait_process_cpu_seconds_total" + l), 5.6);
  EXPECT_EQ(got.at("firstwait_processes" + l), 1);
}

TEST(Process, BlockIoDelayIsAbsentWithoutAccountingAndImplausibleJumpsAreLeftOut) {
  Fake f;
  f.tree.file("proc/sys/kernel/task_delayacct", "0\n");
  f.process(11, "python3", 1, "python3 train.py", ranked(0), 1000, 1, 5000, 3);
  const std::string key =
      "firstwait_process_block_io_delay_seconds_total{rank=\"0\",role=\"trainer\"}";
  EXPECT_EQ(Bench(collector_process, f.world()).sample().count(key), 0u);
  f.tree.file("proc/sys/kernel/task_delayacct", "1\n");
  Bench bench(collector_process, f.world());
  EXPECT_EQ(bench.sample().at(key), 0);
  f.process(11, "python3", 1, "python3 train.py", ranked(0), 1000, 1, 5000, 53);
  EXPECT_EQ(bench.sample().at(key), 0.5);
  f.process(11, "python3", 1, "python3 train.py", ranked(0), 1000, 1, 5000, 71515);
  EXPECT_EQ(bench.sample().at(key), 0.5);
}

TEST(Process, AReusedPidIsNotTakenForTheOldProcess) {
  Fake f;
  f.process(11, "python3", 1, "python3 train.py", ranked(0), 1000, 1, 5000);
  Bench bench(collector_process, f.world());
  bench.sample();
  f.process(11, "sshd", 1, "sshd", "", 9'000'000, 1, 7777);
  auto got = bench.sample();
  EXPECT_EQ(got.at("firstwait_process_cpu_seconds_total{rank=\"0\",role=\"trainer\"}"), 10.05);
}

TEST(Process, FiveThousandProcessesAreSearchedAndTheJobsAreWatchedWithinBounds) {
  Fake f;
  for (int pid = 1000; pid < 6000; ++pid) {
    const std::string at = "proc/" + std::to_string(pid) + "/";
    f.tree.file(at + "stat", stat_line(pid, "pt_data_worker", 999, 10, 1, 5000))
        .file(at + "cmdline", "python3")
        .file(at + "environ", ranked(0));
  }
  Bench bench(collector_process, f.world());
  auto got = bench.sample();
  EXPECT_EQ(got.at("firstwait_processes{rank=\"0\",role=\"loader\"}"), 1024);
}

TEST(Process, WithoutAJobItIsIdle) {
  Fake f;
  Bench bench(collector_process, f.world());
  EXPECT_TRUE(bench.sample().empty());
  EXPECT_EQ(bench.presence(), Presence::idle);
}

TEST(ParseStat, OddNamesAndShortLines) {
  ProcessStat s;
  const std::string line = stat_line(7, "a) (b", 3, 9, 2, 77, 5, 'D');
  ASSERT_TRUE(parse_stat(line, s));
  EXPECT_EQ(s.comm, "a) (b");
  EXPECT_EQ(s.state, 'D');
  EXPECT_EQ(s.block_io_ticks, 5);
  EXPECT_EQ(s.resident_pages, 250);
  for (size_t n = 0; n < 100; ++n) parse_stat(line.substr(0, n), s);
  EXPECT_FALSE(parse_stat("", s));
  EXPECT_FALSE(parse_stat(")(", s));
}

TEST(Process, AProcessWhoseFilesVanishBetweenTwoReadsIsLeftOut) {
  Fake f;
  f.process(11, "python3", 1, "python3 train.py", ranked(0));
  f.process(21, "pt_data_worker", 11, "python3 train.py", ranked(0));
  Bench bench(collector_process, f.world());
  f.processes->search(Root::at(f.tree.path()));
  bench.sample();
  for (const auto* file : {"proc/21/io", "proc/21/schedstat", "proc/21/stat"}) {
    f.tree.remove(file);
    EXPECT_TRUE(
        bench.sample().contains("firstwait_process_cpu_seconds_total{rank=\"0\",role=\"trainer\"}"))
        << file;
  }
}

}  // namespace
}  // namespace firstwait
