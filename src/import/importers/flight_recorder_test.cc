#include <filesystem>

#include "base/testing/test_data.h"
#include "import/import_testing.h"

namespace firstwait {
extern const Importer importer_flight_recorder;
namespace {

constexpr std::string_view kJson =
    R"({"version":"2.9","pg_config":{"7":{"name":"7","desc":"DP","ranks":"[0, 3]"}},
"pg_status":{"2":{"last_enqueued_collective":12,"last_started_collective":-1,"last_completed_collective":10}},
"entries":[{"record_id":4,"pg_id":2,"process_group":["7","DP"],"collective_seq_id":11,"is_p2p":false,
"profiling_name":"nccl:all_reduce","input_sizes":[[16,4]],"input_dtypes":["Float"],"state":"scheduled",
"time_created_ns":1758610505592849034},{"state":"completed"}]})";

TEST(FlightRecorderDump, JsonGivesTheSameRowsAsAPickle) {
  const Evidence e = import_text(importer_flight_recorder, kJson, 11, "dir/nccl_trace_rank_3.json");
  ASSERT_EQ(e.flight.size(), 1U);
  EXPECT_EQ(e.flight_ranks, std::vector<int32_t>{3});
  EXPECT_EQ(e.flight_groups[0].members, (std::vector<int32_t>{0, 3}));
  EXPECT_EQ(e.names[e.flight.shape[0]], "16x4");
  EXPECT_EQ(e.flight.created[0], 1758610505592849034);
  EXPECT_EQ(e.flight.completed[0], 0);
  ASSERT_EQ(e.flight_status.size(), 1U);
  EXPECT_EQ(e.flight_status[0].last_enqueued, 12);
  EXPECT_EQ(health_count(e, "bad_entry"), 1U);
}

TEST(FlightRecorderDump, ADumpThatActsOrNamesNoRankIsRefused) {
  const Evidence acts =
      import_text(importer_flight_recorder, "cos\nsystem\n(S'id'\ntR.", 0, "_dump_1");
  ASSERT_EQ(health_count(acts, "refused_pickle"), 1U);
  EXPECT_EQ(acts.health.entries()[0].first_place, "opcode GLOBAL is refused at byte 0");
  EXPECT_TRUE(acts.flight_ranks.empty());
  EXPECT_EQ(health_count(import_text(importer_flight_recorder, kJson, 0, "dump"), "no_rank"), 1U);
  EXPECT_EQ(health_count(import_text(importer_flight_recorder, kJson.substr(0, 300), 0, "_dump_1"),
                         "bad_json"),
            1U);
}

TEST(FlightRecorderDump, APickleThatEndsEarlyIsDamagedNotRefused) {
  const Evidence e =
      import_text(importer_flight_recorder, std::string_view("\x80\x02}(X\x07\x00\x00\x00vers", 13),
                  0, "_dump_1");
  EXPECT_EQ(health_count(e, "damaged_pickle"), 1U);
  EXPECT_EQ(health_count(e, "refused_pickle"), 0U);
}

TEST(FlightRecorderDump, RealDumpsGiveAllRanksAlsoThoseWithoutEntries) {
  const auto dir = shared_data("flight_recorder/lock_gil_1st");
  if (!dir) GTEST_SKIP() << "shared data is absent";
  Evidence e;
  const ImportOptions options;
  for (int rank = 0; rank < 16; ++rank) {
    const std::string path = *dir + "/_dump_" + std::to_string(rank), text = read_whole(path);
    EXPECT_EQ(recognised_as(text), "flight_recorder");
    const auto reader = importer_flight_recorder.open(ImportContext{path, options, e, path});
    reader->feed(text);
    reader->finish(true);
  }
  EXPECT_TRUE(e.health.entries().empty());
  EXPECT_EQ(e.flight_ranks.size(), 16U);
  EXPECT_EQ(std::count(e.flight.rank.begin(), e.flight.rank.end(), 9), 0);
  // Rank 9 recorded no entry, yet its counters are matched to their groups.
  const auto status =
      std::find_if(e.flight_status.begin(), e.flight_status.end(), [&](const FlightStatus& s) {
        return s.rank == 9 && e.flight_groups[static_cast<size_t>(s.group)].name == "72";
      });
  ASSERT_NE(status, e.flight_status.end());
  EXPECT_EQ(status->last_enqueued, 45264);
}

}  // namespace
}  // namespace firstwait
