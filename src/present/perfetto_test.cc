#include <gtest/gtest.h>
#include <simdjson.h>

#include <map>

#include "present/present.h"
#include "present/sample_report.h"

namespace firstwait {
namespace {

std::string exported(const Evidence& evidence, const Attribution& attribution) {
  std::FILE* file = std::tmpfile();
  write_perfetto(evidence, attribution, file);
  EXPECT_EQ(std::ferror(file), 0);
  std::string text(static_cast<size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return text;
}

struct Seen {
  std::map<std::string, int> kinds;  // by "ph"
  std::map<std::string, int> names;
  std::map<std::string, double> first_ts;
};

Seen read_back(const std::string& text) {
  Seen seen;
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  EXPECT_EQ(parser.parse(simdjson::padded_string(text)).get(root), simdjson::SUCCESS);
  simdjson::dom::array events;
  EXPECT_EQ(root["traceEvents"].get(events), simdjson::SUCCESS);
  for (const auto event : events) {
    const std::string kind(event["ph"].get_string().value());
    const std::string name(event["name"].get_string().value());
    EXPECT_EQ(event["pid"].get_int64().error(), simdjson::SUCCESS);
    EXPECT_EQ(event["tid"].get_int64().error(), simdjson::SUCCESS);
    if (kind != "M") {
      EXPECT_GE(event["ts"].get_double().value(), 0);
      seen.first_ts.emplace(name, event["ts"].get_double().value());
    }
    if (kind == "X") {
      EXPECT_GE(event["dur"].get_double().value(), 0);
    }
    ++seen.kinds[kind];
    ++seen.names[kind == "M"
                     ? std::string(event["args"]["name"].get_string().error() == simdjson::SUCCESS
                                       ? event["args"]["name"].get_string().value()
                                       : std::string_view("-"))
                     : name];
  }
  return seen;
}

Evidence evidence_of_two_ranks() {
  Evidence e;
  e.job.id = "resnet-17";
  for (int32_t rank = 0; rank < 2; ++rank) {
    e.rank(rank).host = "node07";
    for (int32_t step = 0; step < 3; ++step) {
      const size_t row =
          e.steps.append(kNoName, rank, step, 1'000'000'000 + step * 100'000'000, 100'000'000);
      e.steps.set_phase(row, Phase::input_wait, 40'000'000);
      e.steps.set_phase(row, Phase::forward, 60'000'000);
    }
    e.spans.append(rank, 0, 1'000'000'500, 2'500, e.names.intern("gemm \"quoted\"\n"),
                   Phase::forward, Lane::gpu_compute, 7);
    e.collectives.append(rank, 0, e.names.intern("dp"), e.names.intern("all_reduce"), 0,
                         1'050'000'000, 1'000'000, 64, true);
  }
  Series s;
  s.metric = e.names.intern("DCGM_FI_DEV_GPU_UTIL");
  s.entity = e.names.intern("gpu/node07:0");
  s.time = {1'000'000'000, 1'100'000'000, 1'200'000'000};
  s.value = {95, kNaN, 20};
  e.series.push_back(s);
  Event event;
  event.kind = "checkpoint";
  event.entity = "job/resnet-17";
  event.start = 1'000'000'000;
  event.end = 1'010'000'000;
  e.events.push_back(event);
  event.kind = "xid";
  event.end = kNoTime;
  e.events.push_back(event);
  return e;
}

TEST(Perfetto, TracksStepsPhasesSpansCollectivesCountersAndEvents) {
  const auto seen = read_back(exported(evidence_of_two_ranks(), {}));
  EXPECT_EQ(seen.names.at("step 0"), 2);
  EXPECT_EQ(seen.names.at("input_wait"), 6);
  EXPECT_EQ(seen.names.at("gemm \"quoted\"\n"), 2);
  EXPECT_EQ(seen.names.at("all_reduce"), 2);
  EXPECT_EQ(seen.kinds.at("C"), 2);  // the missing sample is left out
  EXPECT_EQ(seen.kinds.at("i"), 1);
  EXPECT_EQ(seen.names.at("rank 1 on node07"), 1);
  EXPECT_EQ(seen.names.at("phases (durations only; order not recorded)"), 2);
  EXPECT_DOUBLE_EQ(seen.first_ts.at("gemm \"quoted\"\n"), 0.5);
  EXPECT_DOUBLE_EQ(seen.first_ts.at("forward"), 40'000);
}

TEST(Perfetto, TheJobsLedgerHasItsOwnTrack) {
  const auto seen = read_back(exported({}, sample::step_change().attribution));
  EXPECT_EQ(seen.names.at("steps (critical path)"), 1);
  EXPECT_EQ(seen.names.at("step 999"), 1);
}

TEST(Perfetto, StepsWithoutTimesAreLaidBehindEachOther) {
  Evidence e;
  for (int32_t step = 0; step < 3; ++step) e.steps.append(kNoName, 0, step, kNoTime, 1'000'000);
  const auto seen = read_back(exported(e, {}));
  EXPECT_DOUBLE_EQ(seen.first_ts.at("step 2"), 2'000);
}

TEST(Perfetto, OperationsOfEachStepFollowTheStepBefore) {
  Evidence e;
  const NameId forward = e.names.intern("forward-compute"), late = e.names.intern("late");
  for (int32_t step = 0; step < 2; ++step) {
    OpTable& o = e.ops;
    o.dp_rank.push_back(0);
    o.stage.push_back(0);
    o.rank.push_back(0);
    o.step.push_back(step);
    o.optype.push_back(step == 0 ? forward : late);
    o.start.push_back(0.5F);
    o.duration.push_back(0.5F);
    o.seq.push_back(0);
    o.model_chunk.push_back(-1);
    o.global_model_chunk.push_back(-1);
    o.microbatch.push_back(0);
  }
  const auto seen = read_back(exported(e, {}));
  EXPECT_DOUBLE_EQ(seen.first_ts.at("late"), 1'500'000);
}

TEST(Perfetto, HostileTimesAndNamesStillGiveValidJson) {
  Evidence e = evidence_of_two_ranks();
  e.spans.start[0] = INT64_MAX;
  e.spans.duration[0] = INT64_MIN;
  e.steps.start[0] = INT64_MIN + 1;
  e.steps.duration[1] = INT64_MAX;
  e.events[0].end = INT64_MAX;
  e.events[0].attributes = {{"a\xff", "\x1b"}, {"a\xff", "again"}};
  e.series[0].value[0] = INFINITY;
  e.job.id = "\xff\"\\";
  read_back(exported(e, {}));
  read_back(exported({}, {}));
}

}  // namespace
}  // namespace firstwait
