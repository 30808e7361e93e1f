#include <gtest/gtest.h>

#include "base/testing/test_data.h"
#include "import/import.h"
#include "import/logs/dlio_epochs.h"
#include "import/logs/test_feed.h"

namespace firstwait {
extern const Importer importer_dlio;
namespace {

constexpr Ns kMs = 1'000'000, kS = 1'000'000'000;

constexpr std::string_view kSummary =
    R"({"num_accelerators": 8, "num_hosts": 2, "hostname": "c1", "metric": {"train_au_percentage": [99.0, 50.0],
        "train_throughput_samples_per_second": [10.0, 5.0]}, "num_files_train": 100})";
constexpr std::string_view kEpochs =
    R"({"1": {"start": "2024-08-18T18:00:00.000000", "block1": {"start": "2024-08-18T18:00:00.000000",
        "end": "2024-08-18T18:01:40.000000", "duration": "100.00"}, "end": "2024-08-18T18:02:00.000000", "duration": "120.00"},
        "2": {"start": "2024-08-18T18:02:00.000000", "block1": {"start": "2024-08-18T18:02:00.000000",
        "end": "2024-08-18T18:05:20.000000", "duration": "200.00"}, "ckpt1": {"start": "2024-08-18T18:05:20.000000",
        "end": "2024-08-18T18:05:30.000000", "duration": "10.0"}, "end": "2024-08-18T18:05:40.000000", "duration": "220.00"}})";
constexpr std::string_view kOutput =
    R"({"1": {"load": {"block1": [2.0, 0.25, 0.125]}, "proc": {"block1": [3.0, 1.25, 1.125]}, "compute": {"block1": [1.0, 0.9, 1.0]},
        "throughput": {"block1": 2.5}}, "2": {"load": {"block1": [1.0, 0.25]}, "proc": {"block1": [2.0, 1.25]}}, "hostname": "c1"})";

void add(Evidence& e, std::string_view text, const std::string& path) {
  feed(importer_dlio, text, e, SIZE_MAX, {}, path);
}

TEST(Dlio, EpochsBecomeRowsWhenNothingFinerIsKnown) {
  Evidence e;
  add(e, kSummary, "runs/run5/summary.json");
  add(e, kEpochs, "runs/run5/per_epoch_stats.json");
  add_dlio_epoch_rows(e);
  add_dlio_epoch_rows(e);  // once is enough
  ASSERT_EQ(e.steps.size(), 2u);
  EXPECT_EQ(e.names[e.steps.job[0]], "run5");
  EXPECT_EQ(e.steps.step[1], 2);
  EXPECT_EQ(e.steps.duration[0], 120 * kS);
  EXPECT_EQ(e.steps.duration[1], 220 * kS);
  EXPECT_EQ(e.steps.phase(0, Phase::input_wait), 1 * kS);  // 1 % of the block
  EXPECT_EQ(e.steps.phase(1, Phase::input_wait), 100 * kS);
  EXPECT_EQ(e.steps.phase(1, Phase::forward), 100 * kS);
  EXPECT_EQ(e.steps.phase(1, Phase::checkpoint), 10 * kS);
  EXPECT_EQ(setting(e, "job/run5", "world_size"), "8");
}

TEST(Dlio, PerRankStepsReplaceEpochsInAnyOrderOfFiles) {
  for (const bool first : {true, false}) {
    Evidence e;
    if (first) add(e, kOutput, "runs/run5/3_output.json");
    add(e, kSummary, "runs/run5/summary.json");
    add(e, kEpochs, "runs/run5/per_epoch_stats.json");
    if (!first) add(e, kOutput, "runs/run5/3_output.json");
    add_dlio_epoch_rows(e);
    EXPECT_EQ(e.steps.size(), 5u);
  }
}

TEST(Dlio, AStepHoldsItsLoadAndItsCompute) {
  Evidence e;
  add(e, kOutput, "runs/run5/3_output.json");
  ASSERT_EQ(e.steps.size(), 5u);
  EXPECT_EQ(e.steps.rank[0], 3);
  EXPECT_EQ(e.steps.kind[0], StepKind::warmup);
  EXPECT_EQ(e.steps.kind[1], StepKind::train);
  EXPECT_EQ(e.steps.kind[3], StepKind::warmup);  // each epoch starts its readers again
  EXPECT_EQ(e.steps.step[3], 4);
  EXPECT_EQ(e.steps.epoch[3], 2);
  EXPECT_EQ(e.steps.duration[1], 1250 * kMs);
  EXPECT_EQ(e.steps.phase(1, Phase::input_wait), 250 * kMs);
  EXPECT_EQ(e.steps.phase(1, Phase::forward), 900 * kMs);
  EXPECT_EQ(e.steps.phase(4, Phase::forward),
            1000 * kMs);  // no list of compute: what is not loading
  EXPECT_EQ(e.ranks.at(3).host, "c1");
}

TEST(Dlio, IostatRatesAreGaugesOfTheirOwn) {
  Evidence e;
  add(e,
      R"({"sysstat": {"hosts": [{"nodename": "n1", "statistics": [{"timestamp": "04/05/23 16:33:43",
      "avg-cpu": {"user": 25.0, "iowait": 5.0}, "disk": [{"disk_device": "vda", "r/s": 100.0, "rMB/s": 2.0, "util": 85.0,
      "r_await": 0.5}]}, {"timestamp": "soon"}]}]}})",
      "run/iostat.json");
  ASSERT_EQ(e.series.size(), 6u);
  const auto at = std::find_if(e.series.begin(), e.series.end(), [&](const Series& s) {
    return e.names[s.metric] == "firstwait_iostat_read_bytes_per_second";
  });
  ASSERT_NE(at, e.series.end());
  EXPECT_EQ(at->value[0], 2 * 1048576.0);
  EXPECT_EQ(at->time[0], 1680712423 * kS);  // the fifth of April
  EXPECT_EQ(health_count(e, "bad_sample"), 1u);
}

TEST(Dlio, TheConfigurationIsSettings) {
  Evidence e;
  const std::string_view text =
      "workload:\n  model: unet3d\n  framework: pytorch\n  dataset:\n    num_files_train: 100\n    "
      "data_folder: /d\n"
      "  reader:\n    data_loader: pytorch\n    read_threads: 4\n    batch_size: 7\n";
  EXPECT_EQ(importer_dlio.sniff({text, "x"}), 60);
  add(e, text, "runs/run5/config.yaml");
  EXPECT_EQ(setting(e, "job/run5", "loader.num_workers"), "4");
  EXPECT_EQ(setting(e, "job/run5", "loader.batch_size"), "7");
  EXPECT_EQ(setting(e, "job/run5", "dataset.path"), "/d");
}

TEST(Dlio, DamageIsCountedAndOtherDocumentsAreLeft) {
  for (const auto text : {kSummary, kEpochs, kOutput}) {
    EXPECT_GE(importer_dlio.sniff({text, "x"}), 60);
    EXPECT_TRUE(same_for_all_chunks(importer_dlio, text, "run/1_output.json"));
    feed_damaged(importer_dlio, text, "run/1_output.json");
    Evidence e;
    add(e, text.substr(0, text.size() / 2), "run/1_output.json");
    EXPECT_EQ(e.steps.size(), 0u);
    EXPECT_EQ(health_count(e, "bad_document"), 1u);
  }
  EXPECT_EQ(importer_dlio.sniff({"", "summary.json"}), 0);
  EXPECT_EQ(importer_dlio.sniff({R"({"traceEvents": []})", "summary.json"}), 0);
  EXPECT_EQ(importer_dlio.sniff({"job: x\nranks: []\n", "config.yaml"}), 0);
}

TEST(Dlio, ARealDipShowsInTheFifthEpoch) {
  const auto path = shared_data("logs/mlperf_storage_dip/run5");
  if (!path) GTEST_SKIP() << "no shared data";
  Evidence e;
  ASSERT_TRUE(import_inputs({*path}, {}, e));
  ASSERT_EQ(e.steps.size(), 5u);
  const auto wait = [&](size_t i) {
    return static_cast<double>(e.steps.phase(i, Phase::input_wait)) / 1e9;
  };
  EXPECT_LT(wait(3), 1.5);
  EXPECT_NEAR(wait(4), 174.06 * 0.3084, 0.1);
}

}  // namespace
}  // namespace firstwait
