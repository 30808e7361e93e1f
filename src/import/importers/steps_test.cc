#include "import/import_testing.h"

namespace firstwait {
extern const Importer importer_steps;
namespace {

constexpr std::string_view kRow =
    R"({"job":"resnet-17","rank":3,"host":"node07","step":120,"start":1764500000.123456789,"duration":0.482,)"
    R"("phases":{"input_wait":0.310,"h2d":0.004,"forward":0.050,"backward":0.090,"collective":0.020,"optimizer":0.006},)"
    R"("kind":"evaluation","epoch":2,"samples":64,"tokens":0,"bytes":7340032,"loss":1.93,)"
    R"("loader":{"workers":4,"fetch":0.9,"decompress":0.1,"decode":0.3,"transform":0.5,"tokenize":0.0,"collate":0.02,"queued":0},)"
    R"("collectives":[{"group":"dp","seq":7,"op":"all_reduce","start":1764500000.55,"duration":0.020,"bytes":102400}]})"
    "\n";

TEST(Steps, EveryFieldOfTheFormatArrivesExactly) {
  const Evidence e = import_text(importer_steps, kRow);
  ASSERT_EQ(e.steps.size(), 1U);
  EXPECT_EQ(e.names[e.steps.job[0]], "resnet-17");
  EXPECT_EQ(e.steps.rank[0], 3);
  EXPECT_EQ(e.steps.step[0], 120);
  EXPECT_EQ(e.steps.start[0], 1764500000123456789);
  EXPECT_EQ(e.steps.duration[0], 482'000'000);
  EXPECT_EQ(e.steps.kind[0], StepKind::evaluation);
  EXPECT_EQ(e.steps.epoch[0], 2);
  EXPECT_EQ(e.steps.phase(0, Phase::input_wait), 310'000'000);
  EXPECT_EQ(e.steps.phase(0, Phase::optimizer), 6'000'000);
  EXPECT_EQ(e.steps.phase(0, Phase::gc), kNoDuration);
  EXPECT_EQ(e.steps.loader_time(0, LoaderWork::transform), 500'000'000);
  EXPECT_EQ(e.steps.loader_time(0, LoaderWork::tokenize), 0);
  EXPECT_EQ(StepTable::number(e.steps.loader_workers, 0), 4);
  EXPECT_EQ(StepTable::number(e.steps.loader_queued, 0), 0);
  EXPECT_EQ(StepTable::number(e.steps.samples, 0), 64);
  EXPECT_EQ(StepTable::number(e.steps.bytes, 0), 7340032);
  EXPECT_EQ(StepTable::number(e.steps.loss, 0), 1.93);
  EXPECT_EQ(e.ranks.at(3).host, "node07");
  EXPECT_FALSE(e.ranks.at(3).relative_time);
  ASSERT_EQ(e.collectives.size(), 1U);
  EXPECT_EQ(e.names[e.collectives.group[0]], "dp");
  EXPECT_EQ(e.names[e.collectives.op[0]], "all_reduce");
  EXPECT_EQ(e.collectives.seq[0], 7);
  EXPECT_EQ(e.collectives.start[0], 1764500000550000000);
  EXPECT_EQ(e.collectives.duration[0], 20'000'000);
  EXPECT_EQ(e.collectives.bytes[0], 102400);
  EXPECT_TRUE(e.health.entries().empty());
}

TEST(Steps, TheSplitOfTheInputDoesNotMatter) {
  const std::string text = std::string(kRow) + "\n" + std::string(kRow);
  for (size_t piece = 1; piece < 700; piece += 37) {
    const Evidence e = import_text(importer_steps, text, piece);
    ASSERT_EQ(e.steps.size(), 2U) << piece;
    EXPECT_EQ(e.collectives.size(), 2U) << piece;
    EXPECT_EQ(e.steps.start[1], 1764500000123456789) << piece;
  }
}

TEST(Steps, OptionalFieldsStayAbsent) {
  const Evidence e = import_text(importer_steps, R"({"rank":0,"step":1,"duration":0.5})");
  ASSERT_EQ(e.steps.size(), 1U);
  EXPECT_EQ(e.steps.start[0], kNoTime);
  EXPECT_EQ(e.steps.epoch[0], -1);
  EXPECT_EQ(e.steps.phase(0, Phase::forward), kNoDuration);
  EXPECT_TRUE(std::isnan(StepTable::number(e.steps.loss, 0)));
}

TEST(Steps, TimeOfAnUnknownPhaseIsKeptAsUnexplained) {
  const Evidence e = import_text(
      importer_steps,
      R"({"rank":0,"step":1,"duration":1,"phases":{"warp":0.2,"drift":0.1,"forward":0.3}})");
  EXPECT_EQ(health_count(e, "unknown_phase"), 2U);
  EXPECT_EQ(e.steps.phase(0, Phase::unexplained), 300'000'000);
  EXPECT_EQ(e.steps.phase(0, Phase::forward), 300'000'000);
}

TEST(Steps, PhasesAboveTheDurationAreCountedAndRoundingIsNot) {
  const Evidence e = import_text(
      importer_steps, R"({"rank":0,"step":1,"duration":1,"phases":{"forward":0.6,"backward":0.5}}
{"rank":0,"step":2,"duration":0.3,"phases":{"forward":0.1000004,"backward":0.2}})");
  EXPECT_EQ(health_count(e, "phases_exceed_step"), 1U);
  EXPECT_EQ(e.steps.size(), 2U);
}

TEST(Steps, RelativeAndIntegerTimesAreTold) {
  const Evidence e = import_text(importer_steps, R"({"rank":0,"step":1,"start":12.5,"duration":1}
{"rank":1,"step":1,"start":1764500000123456789,"duration":1}
{"rank":2,"step":1,"start":"2025-11-30T10:53:20.5Z","duration":1})");
  EXPECT_TRUE(e.ranks.at(0).relative_time);
  EXPECT_EQ(e.steps.start[0], 12'500'000'000);
  EXPECT_FALSE(e.ranks.at(1).relative_time);
  EXPECT_EQ(e.steps.start[1], 1764500000123456789);
  EXPECT_EQ(e.steps.start[2], 1764500000500000000);
}

TEST(Steps, BadRowsAreCountedAndTheOthersRead) {
  const Evidence e = import_text(importer_steps, R"({"rank":0,"step":1,"duration":1}
{"rank":0,"step":2,
not json
{"rank":0,"step":3}
{"rank":-1,"step":3,"duration":1}
{"rank":0,"step":4,"duration":-3}
{"rank":0,"step":4,"duration":1e300}
{"rank":0,"step":5,"duration":1,"start":9e99,"loss":NaN}
{"rank":0,"step":6,"duration":1} trailing
{"rank":0,"step":7,"duration":1,"kind":"odd"}
[1])");
  EXPECT_EQ(e.steps.size(), 3U);
  EXPECT_EQ(health_count(e, "bad_line"), 4U);
  EXPECT_EQ(health_count(e, "incomplete_step"), 3U);
  EXPECT_EQ(health_count(e, "bad_index"), 1U);
  EXPECT_EQ(health_count(e, "bad_number"), 1U);
  EXPECT_EQ(health_count(e, "unknown_kind"), 1U);
  EXPECT_TRUE(std::isnan(StepTable::number(e.steps.loss, 1)));
}

TEST(Steps, AnArrayOfRowsIsRefusedByName) {
  for (const std::string_view text : {R"([{"rank":0,"step":1,"duration":0.5}])",
                                      "[\n {\"rank\":0,\"step\":1,\"duration\":0.5},\n {}]\n"}) {
    EXPECT_EQ(importer_steps.sniff({text, "x"}), 90) << text;
    const Evidence e = import_text(importer_steps, text);
    EXPECT_EQ(health_count(e, "json_array"), 1U) << text;
    EXPECT_EQ(e.health.entries().size(), 1U) << text;
  }
}

TEST(Steps, ARankOrStepThatIsNoIndexIsToldApartFromAMissingOne) {
  const Evidence e = import_text(importer_steps, R"({"rank":4000000000,"step":1,"duration":0.5}
{"rank":1.5,"step":1,"duration":0.5}
{"rank":0,"step":300000000000000000,"duration":0.5}
{"rank":0,"duration":0.5}
)");
  EXPECT_EQ(health_count(e, "bad_index"), 3U);
  EXPECT_EQ(health_count(e, "incomplete_step"), 1U);
}

}  // namespace
}  // namespace firstwait
