#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include "present/json_writer.h"
#include "present/present.h"
#include "present/sample_comparison.h"
#include "present/sample_report.h"

namespace firstwait {
namespace {

using simdjson::dom::element;
using ::testing::HasSubstr;
using ::testing::Not;

// Parses, and keeps the parser's memory alive.
class Parsed {
 public:
  explicit Parsed(const std::string& text) {
    const auto error = parser_.parse(simdjson::padded_string(text)).get(root_);
    EXPECT_EQ(error, simdjson::SUCCESS) << text.substr(0, 400);
  }
  element at(const char* pointer) const {
    element found;
    EXPECT_EQ(root_.at_pointer(pointer).get(found), simdjson::SUCCESS) << pointer;
    return found;
  }
  double number(const char* pointer) const { return at(pointer).get_double().value(); }
  std::string_view text(const char* pointer) const { return at(pointer).get_string().value(); }

 private:
  simdjson::dom::parser parser_;
  element root_;
};

TEST(Json, HasEveryKeyOfTheContract) {
  for (const auto& report : {sample::step_change(), Report{}}) {
    const Parsed json(json_report(report));
    for (const char* pointer : {"/schema",
                                "/job/id",
                                "/job/ranks",
                                "/job/hosts",
                                "/job/steps",
                                "/job/start",
                                "/job/end",
                                "/job/owner",
                                "/job/project",
                                "/evidence_level",
                                "/step_time/current_s",
                                "/step_time/baseline_s",
                                "/step_time/slowdown",
                                "/step_time/ci95",
                                "/step_time/baseline_kind",
                                "/pattern",
                                "/period_s",
                                "/onset",
                                "/productive_fraction",
                                "/ledger",
                                "/what_if",
                                "/symptoms",
                                "/recovery/last_good_step",
                                "/recovery/gpu_hours_at_risk",
                                "/recovery/failed_saves",
                                "/findings",
                                "/ruled_out",
                                "/untested",
                                "/checklist",
                                "/next_measurements",
                                "/input_health",
                                "/outliers",
                                "/observations",
                                "/sources",
                                "/headline",
                                "/verdict",
                                "/trace",
                                "/episodes",
                                "/straggles",
                                "/offsets",
                                "/groupings"})
      json.at(pointer);
  }
}

TEST(Json, SaysWhatTheReportHolds) {
  const Parsed json(json_report(sample::step_change()));
  EXPECT_EQ(json.text("/schema"), "firstwait.report/1");
  EXPECT_EQ(json.number("/job/ranks"), 8);
  EXPECT_EQ(json.number("/step_time/slowdown"), 4.8);
  EXPECT_EQ(json.number("/step_time/ci95/1"), 4.9);
  EXPECT_EQ(json.text("/step_time/baseline_kind"), "past");
  EXPECT_EQ(json.number("/onset/step"), 61240);
  EXPECT_EQ(json.number("/onset/interval/0"), 61238);
  EXPECT_EQ(json.number("/onset/time"), 1794914197);
  EXPECT_EQ(json.text("/ledger/0/phase"), "input_wait");
  EXPECT_EQ(json.number("/ledger/0/seconds_per_step"), 0.458);
  EXPECT_EQ(json.text("/findings/0/cause"), "storage.throughput_ceiling");
  EXPECT_EQ(json.number("/findings/0/cost/gpu_hours"), 4.4);
  EXPECT_EQ(json.number("/findings/0/since/step"), 61240);
  EXPECT_EQ(json.text("/findings/0/chain/4/what"), "Export at its ceiling");
  EXPECT_EQ(json.number("/findings/0/evidence/0/current"), 498e6);
  EXPECT_FALSE(json.at("/findings/0/evidence/1/for").get_bool().value());
  EXPECT_EQ(json.number("/findings/0/actions/0/gain/speedup/1"), 2.1);
  EXPECT_EQ(json.text("/checklist/3/status"), "suspect");
  EXPECT_EQ(json.text("/input_health/0/severity"), "info");
  EXPECT_EQ(json.text("/untested/0/needs/0"), "node_hwmon_*");
}

TEST(Json, AbsentIsNullNeverZeroOrMinusOneOrNan) {
  const std::string text = json_report(Report{});
  const Parsed json(text);
  for (const char* pointer :
       {"/job/id", "/job/start", "/job/span_s", "/job/world_size", "/step_time/current_s",
        "/step_time/ci95", "/period_s", "/onset", "/productive_fraction", "/what_if",
        "/recovery/failed_saves", "/headline", "/replay_error"})
    EXPECT_TRUE(json.at(pointer).is_null()) << pointer;
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_THAT(text, Not(HasSubstr(":-1")));
  const Parsed chronic(json_report(sample::chronic()));
  EXPECT_TRUE(chronic.at("/findings/0/actions/0/gain/speedup/0").is_null());
  EXPECT_EQ(chronic.number("/findings/0/actions/0/gain/speedup/1"), 1.66);
  EXPECT_TRUE(chronic.at("/job/start").is_null());
}

TEST(Json, WhatIfCarriesTheSharesUnderTheirContractNames) {
  Report r;
  WhatIf w;
  w.slowdown = 1.97;
  w.replay_error = 0.013;
  w.worker_share_removal = 1.0017;
  w.stage_share_removal = -0.0012;
  w.by_dp_rank = {1.973, 1.0};
  w.by_stage = {1.979};
  w.by_op = {{"backward-compute", 1.58}};
  w.workers.resize(1);
  w.workers[0].rank = 0;
  w.workers[0].score = 1.973;
  w.dropped_steps = 2;
  w.ignored_ops = {"embedding-sync"};
  r.attribution.what_if = w;
  const Parsed json(json_report(r));
  EXPECT_EQ(json.number("/what_if/straggler_free_slowdown"), 1.97);
  EXPECT_EQ(json.number("/what_if/worker_share_top3"), 1.0017);
  EXPECT_EQ(json.number("/what_if/last_stage_share"), -0.0012);
  EXPECT_EQ(json.number("/what_if/by_dp_rank/0/slowdown"), 1.973);
  EXPECT_EQ(json.number("/what_if/by_stage/0/stage"), 0);
  EXPECT_EQ(json.text("/what_if/by_op/0/op"), "backward-compute");
  EXPECT_EQ(json.number("/what_if/by_rank/0/rank"), 0);
  EXPECT_EQ(json.number("/what_if/by_rank/0/score"), 1.973);
  EXPECT_EQ(json.number("/what_if/dropped_steps"), 2);
  EXPECT_EQ(json.text("/what_if/ignored_ops/0"), "embedding-sync");
}

TEST(Json, AStretchThatIsOverIsToldWithItsPlaceAndCost) {
  Report r;
  Episode e;
  e.first_step = 120;
  e.last_step = 160;
  e.window.from = 1'764'500'000'000'000'000;
  e.ratio = 1.8;
  e.seconds_per_step = 0.24;
  r.attribution.episodes.push_back(e);
  const Parsed json(json_report(r));
  EXPECT_EQ(json.number("/episodes/0/first_step"), 120);
  EXPECT_EQ(json.number("/episodes/0/last_step"), 160);
  EXPECT_EQ(json.number("/episodes/0/start"), 1'764'500'000);
  EXPECT_TRUE(json.at("/episodes/0/end").is_null());
  EXPECT_EQ(json.number("/episodes/0/ratio"), 1.8);
  EXPECT_EQ(json.number("/episodes/0/seconds_per_step"), 0.24);
}

TEST(Json, AllOfALongListIsThere) {
  const Parsed json(json_report(sample::intermittent()));
  EXPECT_EQ(json.at("/outliers").get_array().value().size(), 14U);
  EXPECT_EQ(json.number("/outliers/13/step"), 191);
  EXPECT_TRUE(json.at("/outliers/13/rank").is_null());
}

TEST(Json, GarbageBytesStillGiveValidJson) {
  Report r = sample::step_change();
  std::string garbage;
  for (int i = 0; i < 256; ++i) garbage.push_back(static_cast<char>(i));
  r.job.id = r.headline = garbage + "\xE2\x80\xA8</script>";
  r.hosts = {garbage};
  r.findings[0].cause = r.findings[0].verdict.chain[0].what = garbage;
  r.events[0].attributes = {{garbage, garbage}};
  const std::string text = json_report(r);
  const Parsed json(text);
  EXPECT_THAT(std::string(json.text("/job/id")), HasSubstr("\x1b\x1c"));
  EXPECT_THAT(std::string(json.text("/job/id")), HasSubstr("\xEF\xBF\xBD"));
  EXPECT_THAT(std::string(json.text("/job/id")), HasSubstr("</script>"));
  EXPECT_THAT(text, Not(HasSubstr("<")));
}

TEST(Json, TheSameReportGivesTheSameBytes) {
  EXPECT_EQ(json_report(sample::step_change()), json_report(sample::step_change()));
}

TEST(Json, TimesKeepTheirNanoseconds) {
  EXPECT_EQ(decimal_seconds(1764500000123456789), "1764500000.123456789");
  EXPECT_EQ(decimal_seconds(1764500000250000000), "1764500000.25");
  EXPECT_EQ(decimal_seconds(-500000000), "-0.5");
  EXPECT_EQ(decimal_seconds(INT64_MIN), "-9223372036.854775808");
}

TEST(Json, ComparisonFollowsItsContract) {
  const Parsed json(json_compare(sample::comparison()));
  EXPECT_EQ(json.text("/schema"), "firstwait.compare/1");
  EXPECT_EQ(json.number("/speedup/mean"), 1.25);
  EXPECT_EQ(json.number("/speedup/median"), 1.39);
  EXPECT_EQ(json.number("/speedup/ci95/0"), 1.07);
  EXPECT_TRUE(json.at("/distinguishable").get_bool().value());
  EXPECT_EQ(json.text("/phases/0/phase"), "input_wait");
  EXPECT_EQ(json.number("/phases/0/before_s"), 0.0694);
  EXPECT_EQ(json.text("/outliers/1/side"), "after");
  EXPECT_EQ(json.number("/outliers/1/step"), 9);
  EXPECT_TRUE(json.at("/predicted").is_null());
  EXPECT_EQ(json.number("/before/steps"), 6);
  const Parsed empty(json_compare(Comparison{}));
  EXPECT_TRUE(empty.at("/distinguishable").is_null());
  EXPECT_TRUE(empty.at("/speedup/ci95").is_null());
}

}  // namespace
}  // namespace firstwait
