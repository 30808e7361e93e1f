#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/testing/test_data.h"
#include "import/duckdb.h"
#include "import/import.h"
#include "import/import_testing.h"

namespace firstwait {
extern const Importer importer_spans;
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

class OpsParquet : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("firstwait-parquet-{}", ::getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  // Writes the result of `select` as a Parquet file.
  std::string write(const std::string& select, const std::string& name = "t.parquet") {
    auto duck = Duck::open();
    EXPECT_TRUE(duck.ok()) << duck.error().where;
    const std::string plain = path("plain.parquet");
    const auto status =
        duck->run(fmt::format("COPY ({}) TO {} (FORMAT parquet)", select, sql_text(plain)));
    EXPECT_TRUE(status.ok()) << status.error().what;
    fs::rename(plain, path(name));
    return path(name);
  }
  Evidence import(const std::string& file) {
    Evidence out;
    const auto result = import_inputs({file}, {}, out);
    EXPECT_TRUE(result.ok());
    return out;
  }
  static const HealthEntry* health(const Evidence& e, std::string_view name) {
    for (const auto& entry : e.health.entries())
      if (entry.counter->name == name) return &entry;
    return nullptr;
  }

  fs::path folder_;
};

constexpr const char* kOps =
    "SELECT 1::TINYINT AS dp_rank, 0::TINYINT AS stage, 4::SMALLINT AS rank, 7 AS step, "
    "'forward-compute' AS optype, "
    "0.25::FLOAT AS start_ts, 0.5::FLOAT AS duration, 0 AS seq_id, 0 AS mc, 3 AS gmc, i::INTEGER "
    "AS mb_id "
    "FROM range(3) r(i)";

TEST_F(OpsParquet, ReadsOpRecordsOfNarrowAndWideIntegerTypes) {
  const Evidence e = import(write(kOps));
  ASSERT_EQ(e.ops.size(), 3U);
  EXPECT_THAT(e.ops.microbatch, ElementsAre(0, 1, 2));
  EXPECT_EQ(e.ops.dp_rank[2], 1);
  EXPECT_EQ(e.ops.global_model_chunk[0], 3);
  EXPECT_EQ(e.names[e.ops.optype[1]], "forward-compute");
  EXPECT_FLOAT_EQ(e.ops.start[0], 0.25F);
  ASSERT_EQ(e.ranks.count(4), 1U);
  EXPECT_EQ(e.ranks.at(4).dp_rank, 1);
  EXPECT_EQ(e.ranks.at(4).stage, 0);
  EXPECT_TRUE(e.ranks.at(4).relative_time);
  EXPECT_TRUE(e.health.entries().empty());
}

TEST_F(OpsParquet, AbsentOrEmptyOptionalColumnsBecomeMinusOne) {
  const Evidence e =
      import(write("SELECT 0 AS dp_rank, 0 AS stage, 7 AS step, 'gc' AS optype, 0.0 AS start_ts, "
                   "0.1 AS duration, 0 AS seq_id, "
                   "CASE WHEN i = 0 THEN NULL ELSE 5 END AS mb_id FROM range(2) r(i)"));
  EXPECT_THAT(e.ops.microbatch, ElementsAre(-1, 5));
  EXPECT_THAT(e.ops.rank, ElementsAre(-1, -1));
  EXPECT_THAT(e.ops.model_chunk, ElementsAre(-1, -1));
}

TEST_F(OpsParquet, NamesUnknownColumnsAndReadsTheRest) {
  const Evidence e =
      import(write(fmt::format("SELECT *, 1 AS colour, 2 AS taste FROM ({})", kOps)));
  EXPECT_EQ(e.ops.size(), 3U);
  const auto* entry = health(e, "unknown_columns");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->count, 2U);
  EXPECT_THAT(entry->first_place, HasSubstr("colour, taste"));
}

TEST_F(OpsParquet, CountsRowsWithImpossibleValuesAndKeepsTheOthers) {
  const Evidence e = import(
      write("SELECT 0 AS dp_rank, 0 AS stage, 7 AS step, 'gc' AS optype, [0.0, 'nan'::DOUBLE, 1.0, "
            "2.0, 1e30, 3.0][i] AS start_ts, "
            "[0.1, 0.1, -1.0, NULL, 0.1, 0.2][i] AS duration, 0 AS seq_id FROM range(1, 7) r(i)"));
  EXPECT_THAT(e.ops.start, ElementsAre(0.0F, 3.0F));
  ASSERT_NE(health(e, "bad_rows"), nullptr);
  EXPECT_EQ(health(e, "bad_rows")->count, 4U);
}

TEST_F(OpsParquet, RefusesColumnsOfTheWrongTypeByName) {
  const Evidence e =
      import(write(fmt::format("SELECT * REPLACE ('soon' AS start_ts) FROM ({})", kOps)));
  EXPECT_EQ(e.ops.size(), 0U);
  ASSERT_NE(health(e, "wrong_column_type"), nullptr);
  EXPECT_THAT(health(e, "wrong_column_type")->first_place, HasSubstr("start_ts"));
}

TEST_F(OpsParquet, SaysWhatColumnsATableOfAnotherKindLacks) {
  const Evidence e = import(write("SELECT 1 AS apples, 2 AS pears"));
  const auto* entry = health(e, "unknown_table");
  ASSERT_NE(entry, nullptr);
  EXPECT_THAT(entry->first_place, HasSubstr("apples, pears"));
  EXPECT_THAT(std::string(entry->counter->remedy), HasSubstr("optype"));
}

TEST_F(OpsParquet, PathsThatLookLikePatternsAreReadAsTheyAre) {
  EXPECT_EQ(import(write(kOps, "run[1]*?.parquet")).ops.size(), 3U);
  EXPECT_EQ(import(write(kOps, "it's.parquet")).ops.size(), 3U);
}

TEST_F(OpsParquet, ReadsManyRowGroupsInOrder) {
  const Evidence e =
      import(write("SELECT 0 AS dp_rank, 0 AS stage, 0 AS rank, i::INTEGER AS step, "
                   "'op-with-a-long-name-' || (i % 50) AS optype, "
                   "0.0 AS start_ts, 0.1 AS duration, 0 AS seq_id FROM range(300000) r(i)"));
  ASSERT_EQ(e.ops.size(), 300000U);
  for (size_t i = 0; i < e.ops.size(); i += 997) {
    ASSERT_EQ(e.ops.step[i], static_cast<int32_t>(i));
    ASSERT_EQ(e.names[e.ops.optype[i]], fmt::format("op-with-a-long-name-{}", i % 50));
  }
}

TEST_F(OpsParquet, SpansGiveTheSameEvidenceAsTheirJsonLines) {
  const Evidence lines = import_text(
      importer_spans,
      R"({"rank":3,"step":8,"phase":"collective","op":"all_reduce","start":1764500000.25,"duration":0.125,"thread":"stream 7"}
{"rank":3,"step":8,"phase":"decode","start":5,"duration":0.125,"thread":"loader 0"}
{"rank":3,"step":9,"phase":"p2p","start":1764500001,"duration":0.5,"group":"pp","on_device":false})");
  const Evidence table =
      import(write("SELECT 3 AS rank, 8 AS step, 'collective' AS phase, 'all_reduce' AS op, "
                   "1764500000.25::DECIMAL(18,2) "
                   "AS start, 0.125 AS duration, NULL::VARCHAR AS \"group\", 'stream 7' AS thread, "
                   "true AS on_device "
                   "UNION ALL SELECT 3, 8, 'decode', NULL, 5, 0.125, NULL, 'loader 0', NULL "
                   "UNION ALL SELECT 3, 9, 'p2p', NULL, 1764500001, 0.5, 'pp', NULL, false"));
  EXPECT_EQ(table.spans.start, lines.spans.start);
  EXPECT_EQ(table.spans.lane, lines.spans.lane);
  EXPECT_EQ(table.spans.phase, lines.spans.phase);
  EXPECT_EQ(table.collectives.start, lines.collectives.start);
  EXPECT_EQ(table.collectives.on_device, lines.collectives.on_device);
  EXPECT_EQ(lines.collectives.on_device.size(), 2U);
  EXPECT_TRUE(lines.ranks.at(3).relative_time);
  EXPECT_TRUE(table.ranks.at(3).relative_time);  // one row is enough
  EXPECT_EQ(table.health.entries().size(), lines.health.entries().size());
}

TEST_F(OpsParquet, ReadsSpansWithTheirTimesInAnyNumericForm) {
  for (const char* time : {"1764500000.25::DECIMAL(18,2)", "1764500000250000000::BIGINT",
                           "make_timestamp_ns(1764500000250000000)", "'1764500000.25'"}) {
    const Evidence e =
        import(write(fmt::format("SELECT 3 AS rank, 8 AS step, 'collective' AS phase, 'all_reduce' "
                                 "AS op, {} AS start, 0.125 AS duration, "
                                 "'dp' AS \"group\", 4 AS seq, 1024 AS bytes, 'main' AS thread",
                                 time)));
    ASSERT_EQ(e.spans.size(), 1U) << time;
    EXPECT_EQ(e.spans.start[0], 1764500000250000000) << time;
    EXPECT_EQ(e.spans.duration[0], 125000000);
    EXPECT_EQ(e.spans.phase[0], Phase::collective);
    EXPECT_EQ(e.spans.bytes[0], 1024);
    ASSERT_EQ(e.collectives.size(), 1U);
    EXPECT_EQ(e.collectives.seq[0], 4);
    EXPECT_EQ(e.names[e.collectives.group[0]], "dp");
    EXPECT_FALSE(e.ranks.at(3).relative_time);
  }
}

TEST_F(OpsParquet, PipelineSpansBecomeOpRecordsRelativeToTheirStep) {
  const Evidence e =
      import(write("SELECT i::INTEGER AS rank, 8 AS step, 'forward' AS phase, 'forward-compute' AS "
                   "op, 1764500000 + i * 0.5 AS start, "
                   "0.125 AS duration, 0 AS seq, 0 AS dp_rank, i::INTEGER AS stage, 0 AS "
                   "model_chunk, i AS global_model_chunk, "
                   "2 AS microbatch FROM range(2) r(i)"));
  EXPECT_EQ(e.spans.size(), 0U);
  EXPECT_THAT(e.ops.start, ElementsAre(0.0F, 0.5F));
  EXPECT_THAT(e.ops.stage, ElementsAre(0, 1));
  EXPECT_THAT(e.ops.microbatch, ElementsAre(2, 2));
  EXPECT_THAT(e.ops.global_model_chunk, ElementsAre(0, 1));
}

TEST_F(OpsParquet, UnknownPhasesOfSpansAreNamedAndStayUnexplained) {
  const Evidence e =
      import(write("SELECT 0 AS rank, 'brewing' AS phase, 1.0 AS start, 0.5 AS duration"));
  ASSERT_EQ(e.spans.size(), 1U);
  EXPECT_EQ(e.spans.phase[0], Phase::unexplained);
  ASSERT_NE(health(e, "unknown_phase"), nullptr);
  EXPECT_EQ(health(e, "unknown_phase")->first_place, "brewing");
  EXPECT_TRUE(e.ranks.at(0).relative_time);
}

TEST_F(OpsParquet, ReadsStepsWithNestedPhasesLoaderAndCollectives) {
  const Evidence e =
      import(write("SELECT 'resnet' AS job, 3 AS rank, 'node07' AS host, 120 AS step, 1764500000.5 "
                   "AS start, 0.482 AS duration, "
                   "{'input_wait': 0.31, 'forward': 0.05} AS phases, 'train' AS kind, 2 AS epoch, "
                   "64 AS samples, 1.93 AS loss, "
                   "{'workers': 4, 'fetch': 0.9} AS loader, "
                   "[{'group': 'dp', 'seq': 0, 'op': 'all_reduce', 'start': 1764500000.55, "
                   "'duration': 0.02, 'bytes': 102400}] AS "
                   "collectives"));
  ASSERT_EQ(e.steps.size(), 1U);
  EXPECT_EQ(e.steps.duration[0], 482000000);
  EXPECT_EQ(e.steps.phase(0, Phase::input_wait), 310000000);
  EXPECT_EQ(e.steps.phase(0, Phase::forward), 50000000);
  EXPECT_EQ(e.steps.phase(0, Phase::backward), kNoDuration);
  EXPECT_EQ(e.steps.epoch[0], 2);
  EXPECT_EQ(e.steps.loader_time(0, LoaderWork::fetch), 900000000);
  EXPECT_EQ(StepTable::number(e.steps.loader_workers, 0), 4);
  EXPECT_EQ(StepTable::number(e.steps.loss, 0), 1.93);
  EXPECT_EQ(e.names[e.steps.job[0]], "resnet");
  EXPECT_EQ(e.ranks.at(3).host, "node07");
  ASSERT_EQ(e.collectives.size(), 1U);
  EXPECT_EQ(e.collectives.bytes[0], 102400);
  EXPECT_EQ(e.collectives.step[0], 120);
  EXPECT_TRUE(e.health.entries().empty());
}

TEST_F(OpsParquet, ReadsStepsWithFlatPhaseColumnsAndMaps) {
  Evidence e = import(
      write("SELECT 0 AS rank, 1 AS step, 1 AS duration, 0.25 AS phase_gc, 0.5 AS loader_decode"));
  ASSERT_EQ(e.steps.size(), 1U);
  EXPECT_EQ(e.steps.duration[0], 1000000000);
  EXPECT_EQ(e.steps.start[0], kNoTime);
  EXPECT_EQ(e.steps.phase(0, Phase::gc), 250000000);
  EXPECT_EQ(e.steps.loader_time(0, LoaderWork::decode), 500000000);
  e = import(write("SELECT 0 AS rank, 1 AS step, 1.0 AS duration, MAP {'host': 0.75} AS phases"));
  EXPECT_EQ(e.steps.phase(0, Phase::host), 750000000);
}

TEST_F(OpsParquet, DropsPhasesThatExceedTheStepAndKeepsTheStep) {
  const Evidence e =
      import(write("SELECT 0 AS rank, 1 AS step, 1.0 AS duration, 0.75 AS phase_forward, 0.5 AS "
                   "phase_backward"));
  ASSERT_EQ(e.steps.size(), 1U);
  EXPECT_EQ(e.steps.phase(0, Phase::forward), kNoDuration);
  ASSERT_NE(health(e, "phases_exceed_step"), nullptr);
}

TEST_F(OpsParquet, DamagedFilesAreReportedAndNeverCrash) {
  const std::string good = write(
      "SELECT 0 AS dp_rank, 0 AS stage, 0 AS rank, i::INTEGER AS step, 'gc' || (i % 9) AS optype, "
      "random() AS start_ts, "
      "0.1 AS duration, 0 AS seq_id FROM range(2000) r(i)");
  std::ifstream in(good, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  const std::string bad = path("bad.parquet");
  uint64_t state = 1;
  const auto random = [&] {
    return state = state * 6364136223846793005ULL + 1442695040888963407ULL, state >> 33;
  };
  for (int i = 0; i < 60; ++i) {
    std::string copy = bytes;
    if (i % 2 == 0) {
      copy.resize(4 + random() % (copy.size() - 4));
    } else {
      for (int k = 0; k < 8; ++k)
        copy[4 + random() % (copy.size() - 4)] = static_cast<char>(random());
    }
    std::ofstream(bad, std::ios::binary) << copy;
    const Evidence e = import(bad);
    EXPECT_LE(e.ops.size(), 2000U);
    if (i % 2 == 0) {
      ASSERT_NE(health(e, "unreadable_parquet"), nullptr);
    }
  }
}

TEST_F(OpsParquet, AForgedRowCountCannotTakeAllMemory) {
  // Constant columns compress to nothing: the file is far smaller than its rows.
  const std::string file = write(
      "SELECT 0 AS dp_rank, 0 AS stage, 0 AS rank, 0 AS step, 'gc' AS optype, 0.0::FLOAT AS "
      "start_ts, 0.1::FLOAT AS "
      "duration, 0 AS seq_id FROM range(3000000)");
  const Evidence e = import(file);
  EXPECT_LE(e.ops.size(), (1U << 20) + 8 * fs::file_size(file));
  if (fs::file_size(file) < 200000) {
    EXPECT_NE(health(e, "too_many_rows"), nullptr);
  }
}

TEST_F(OpsParquet, SaysWhatToDoWhenDuckdbIsAbsent) {
  const std::string file = write(kOps);
  ::setenv("FIRSTWAIT_DUCKDB", "/nonexistent/libduckdb.so", 1);
  const Evidence e = import(file);
  ::unsetenv("FIRSTWAIT_DUCKDB");
  const auto* entry = health(e, "no_duckdb");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->counter->severity, Severity::error);
  EXPECT_THAT(std::string(entry->counter->remedy), HasSubstr("FIRSTWAIT_DUCKDB"));
  EXPECT_EQ(e.ops.size(), 0U);
}

TEST_F(OpsParquet, ReadsThePublishedTraces) {
  const auto file = shared_data("whatif/trace-AR.parquet");
  if (!file) GTEST_SKIP() << "shared data is not here";
  const Evidence e = import(*file);
  EXPECT_EQ(e.ops.size(), 117216U);
  EXPECT_EQ(e.ranks.size(), 16U);
  EXPECT_TRUE(e.health.entries().empty());
}

TEST(Duck, QuotesTextAndNames) {
  EXPECT_EQ(sql_text("it's"), "'it''s'");
  EXPECT_EQ(sql_name("a\"b"), "\"a\"\"b\"");
}

TEST(Duck, GivesErrorsAsValues) {
  auto duck = Duck::open();
  ASSERT_TRUE(duck.ok());
  EXPECT_FALSE(duck->run("SELECT nothing FROM nowhere").ok());
  EXPECT_FALSE(
      duck->query("SELECT error('late') FROM range(10)", [](const DuckChunk&) { return true; })
          .ok());
  EXPECT_FALSE(duck->columns("SELEKT").ok());
}

}  // namespace
}  // namespace firstwait
