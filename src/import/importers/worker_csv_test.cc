#include <gtest/gtest.h>

#include "base/testing/test_data.h"
#include "import/import.h"
#include "import/logs/test_feed.h"

namespace firstwait {
extern const Importer importer_worker_csv;
namespace {

constexpr Ns kMs = 1'000'000, kS = 1'000'000'000;

Evidence read(std::string_view text) {
  Evidence out;
  feed(importer_worker_csv, text, out, SIZE_MAX, {}, "jobs/x.csv");
  return out;
}
int score(std::string_view text) { return importer_worker_csv.sniff({text, "x.csv"}); }

constexpr std::string_view kNormalised =
    ",worker,gpu,time,batch_time_norm\n0,0,25,1,476\n1,1,25,1,509\n2,0,25,2,468\n3,1,25,2,1.5\n";

TEST(WorkerCsv, SampleWindowsAreStepsAndRelativeTimesHaveNoUnit) {
  const Evidence e = read(kNormalised);
  ASSERT_EQ(e.steps.size(), 4u);
  EXPECT_EQ(e.steps.rank[1], 1);
  EXPECT_EQ(e.steps.step[0], 0);  // the first window
  EXPECT_EQ(e.steps.step[2], 1);
  EXPECT_EQ(e.steps.duration[0], 476 * kS);
  EXPECT_EQ(e.steps.duration[3], 1500 * kMs);
  EXPECT_TRUE(e.job.unitless);
  EXPECT_EQ(setting(e, "job/x", "time.unit"), "normalised");
  EXPECT_EQ(score(kNormalised), 85);
}

TEST(WorkerCsv, UnitsComeFromTheColumnNames) {
  struct Case {
    std::string_view text;
    Ns duration;
  };
  for (const Case& c :
       {Case{"step,rank,step_time_ms\n1,0,12.5\n", 12'500'000},
        Case{"iteration;worker;time (s)\n1;0;0.25\n", 250 * kMs},
        Case{"Step\tRank\tDuration_us\n1\t0\t100\n", 100'000},
        Case{"\xef\xbb\xbf\"step\",\"rank\",\"iter_time[ms]\"\r\n\"1\",\"0\",\"7\"\r\n", 7 * kMs},
        Case{"global_step,train_step_time_s\n1,1.25\n", 1250 * kMs}}) {
    const Evidence e = read(c.text);
    ASSERT_EQ(e.steps.size(), 1u) << c.text;
    EXPECT_EQ(e.steps.duration[0], c.duration) << c.text;
    EXPECT_EQ(health_count(e, "unit_assumed"), 0u) << c.text;
    EXPECT_GE(score(c.text), 70) << c.text;
  }
  EXPECT_EQ(health_count(read("step,rank,duration\n1,0,0.5\n"), "unit_assumed"), 1u);
}

TEST(WorkerCsv, WideTablesHaveAColumnForEachRank) {
  for (const std::string_view text : {"step,rank0_ms,rank1_ms,rank2_ms\n5,10,20,30\n6,11,,31\n",
                                      "step,0 (ms),1 (ms),2 (ms)\n5,10,20,30\n6,11,nan,31\n"}) {
    const Evidence e = read(text);
    ASSERT_EQ(e.steps.size(), 5u);
    EXPECT_EQ(e.steps.rank[2], 2);
    EXPECT_EQ(e.steps.step[2], 5);
    EXPECT_EQ(e.steps.duration[2], 30 * kMs);
    EXPECT_EQ(health_count(e, "missing_value"), 1u);
    EXPECT_EQ(score(text), 85);
  }
}

TEST(WorkerCsv, TheNamesOfManyThousandRanksMayBeCutWhereTheHeadEnds) {
  std::string head = "step";
  for (int rank = 0; rank < 12'000; ++rank) head += ",rank" + std::to_string(rank);
  EXPECT_EQ(score(std::string_view(head).substr(0, 64 << 10)), 85);
  EXPECT_EQ(score("name" + std::string(64 << 10, 'x')), 0);
}

TEST(WorkerCsv, PhasesHostsAndLossAreTakenAlong) {
  const Evidence e = read(
      "step,rank,host,step_time_s,data_time_s,forward_time_s,loss\n1,3,n7,1.0,0.4,0.2,2.5\n2,3,n7,"
      "1.0,0.9,0.2,2.4\n");
  ASSERT_EQ(e.steps.size(), 2u);
  EXPECT_EQ(e.steps.phase(0, Phase::input_wait), 400 * kMs);
  EXPECT_EQ(e.steps.phase(0, Phase::forward), 200 * kMs);
  EXPECT_EQ(e.steps.loss[0], 2.5);
  EXPECT_EQ(e.ranks.at(3).host, "n7");
  EXPECT_EQ(e.steps.phase(1, Phase::forward), kNoDuration);
  EXPECT_EQ(health_count(e, "phases_exceed_step"), 1u);
}

TEST(WorkerCsv, TimestampsGiveDifferences) {
  const Evidence e = read(
      "step,epoch,train_loss,timestamp\n10,0,2.0,1764500000.0\n20,0,1.9,1764500005.0\n30,0,1.8,"
      "1764500015.0\n");
  ASSERT_EQ(e.steps.size(), 2u);
  EXPECT_EQ(e.steps.duration[0], 500 * kMs);
  EXPECT_EQ(e.steps.duration[1], 1 * kS);
  EXPECT_EQ(e.steps.epoch[0], 0);
}

TEST(WorkerCsv, ATimeThatOnlyGrowsIsTheRunsClock) {
  std::string text = "step,time\n", steady = "step,time\n";
  for (int i = 1; i <= 20; ++i) {
    text += fmt::format("{},{}\n", i, i * 0.5);
    steady += fmt::format("{},{}\n", i, 0.5 + i * 0.001);
  }
  const Evidence e = read(text);
  ASSERT_EQ(e.steps.size(), 19u);
  EXPECT_EQ(e.steps.duration[10], 500 * kMs);
  EXPECT_EQ(health_count(e, "elapsed_column"), 20u);
  EXPECT_EQ(read(steady).steps.size(), 20u);  // a slow drift is no clock
}

TEST(WorkerCsv, LossesWithoutTimesGiveARemedyAndNoRows) {
  const std::string_view text = "epoch,step,train_loss\n0,10,2.0\n0,20,1.9\n";
  const Evidence e = read(text);
  EXPECT_EQ(e.steps.size(), 0u);
  EXPECT_EQ(health_count(e, "no_time_column"), 1u);
  EXPECT_EQ(score(text), 30);
}

TEST(WorkerCsv, BadCellsAreCounted) {
  const Evidence e = read(
      "step,rank,step_time_s\n1,0,1\nx,0,1\n2,0,-1\n3,0,99999999999999999999\n4,0\n5,99999999999,"
      "1\n1,0,2\n");
  ASSERT_EQ(e.steps.size(), 1u);
  EXPECT_EQ(health_count(e, "bad_value"), 4u);
  EXPECT_EQ(health_count(e, "short_row"), 1u);
  EXPECT_EQ(health_count(e, "repeated_row"), 1u);
}

TEST(WorkerCsv, RowsDoNotDependOnChunksAndDamageIsSurvived) {
  for (const std::string_view text :
       {kNormalised, std::string_view("step,rank0,rank1\r\n1,0.5,0.6\r\n2,0.5,0.7\r\n")}) {
    EXPECT_TRUE(same_for_all_chunks(importer_worker_csv, text));
    feed_damaged(importer_worker_csv, text);
  }
}

TEST(WorkerCsv, DoesNotTakeOtherTables) {
  EXPECT_EQ(score(""), 0);
  EXPECT_EQ(score(",0,1,2\njob_00,0.05,0.06,0.07\njob_01,0.05,0.06,0.07\n"), 0);
  EXPECT_EQ(score("timestamp, index, utilization.gpu [%], temperature.gpu\n2024/05/08 "
                  "10:10:10.123, 0, 95 %, 60\n"),
            0);
  EXPECT_EQ(score("name,value\na,1\nb,2\n"), 0);
  EXPECT_EQ(score("step:1/10, train_time:5ms\nstep:2/10, train_time:6ms\n"), 0);
}

TEST(WorkerCsv, ARealTableShowsWhoStraggled) {
  const auto path = shared_data("worker_csv/job_1_norm.csv");
  if (!path) GTEST_SKIP() << "no shared data";
  Evidence e;
  ASSERT_TRUE(import_inputs({*path}, {}, e));
  EXPECT_EQ(e.sources.at(0).importer, "worker_csv");
  double worker6 = 0, others = 0;
  int n6 = 0, n = 0;
  for (size_t i = 0; i < e.steps.size(); ++i) {
    if (e.steps.step[i] < 181 || e.steps.step[i] > 194) continue;
    const auto value = static_cast<double>(e.steps.duration[i]);
    if (e.steps.rank[i] == 6)
      worker6 += value, ++n6;
    else
      others += value, ++n;
  }
  ASSERT_GT(n6, 0);
  EXPECT_NEAR((worker6 / n6) / (others / n), 1.5, 0.15);
}

}  // namespace
}  // namespace firstwait
