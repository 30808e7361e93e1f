#include "import/import_testing.h"

namespace firstwait {
extern const Importer importer_spans;
namespace {

TEST(Spans, PhasesAndOpsBecomeSpansAndCollectivesAlsoCollectives) {
  const Evidence e = import_text(
      importer_spans,
      R"({"rank":1,"step":4,"phase":"forward","op":"layer1","start":1764500000.25,"duration":0.125,"thread":"main"}
{"rank":1,"step":4,"phase":"collective","op":"all_reduce","start":1764500000.5,"duration":0.02,"group":"dp","seq":9,"bytes":4096}
{"rank":1,"step":4,"phase":"decode","start":1764500000.5,"duration":0.02,"thread":"w0"}
{"rank":1,"step":4,"op":"save","start":1764500000.5,"duration":0.02})");
  ASSERT_EQ(e.spans.size(), 4U);
  EXPECT_EQ(e.spans.start[0], 1764500000250000000);
  EXPECT_EQ(e.spans.duration[0], 125'000'000);
  EXPECT_EQ(e.spans.phase[0], Phase::forward);
  EXPECT_EQ(e.spans.lane[0], Lane::main_thread);
  EXPECT_EQ(e.spans.lane[2], Lane::loader_worker);
  EXPECT_EQ(e.names[e.spans.op[2]], "decode");
  EXPECT_EQ(e.spans.phase[3], Phase::unexplained);
  ASSERT_EQ(e.collectives.size(), 1U);
  EXPECT_EQ(e.names[e.collectives.group[0]], "dp");
  EXPECT_EQ(e.collectives.seq[0], 9);
  EXPECT_EQ(e.collectives.bytes[0], 4096);
  EXPECT_TRUE(e.health.entries().empty());
}

TEST(Spans, PipelineOperationsBecomeOpRecordsRelativeToTheirStep) {
  const Evidence e = import_text(
      importer_spans,
      R"({"rank":4,"dp_rank":0,"stage":1,"step":7,"op":"forward-compute","seq":2,"start":1764500010.5,"duration":0.25,"model_chunk":0,"global_model_chunk":1,"microbatch":3}
{"rank":0,"dp_rank":0,"stage":0,"step":7,"op":"forward-compute","seq":0,"start":1764500010.0,"duration":0.25}
{"rank":0,"dp_rank":0,"stage":0,"step":7,"op":"forward-compute","start":1764500010.0,"duration":0.25})");
  ASSERT_EQ(e.ops.size(), 2U);
  EXPECT_EQ(e.ops.stage[0], 1);
  EXPECT_EQ(e.ops.rank[0], 4);
  EXPECT_FLOAT_EQ(e.ops.start[0], 0.5F);
  EXPECT_FLOAT_EQ(e.ops.duration[0], 0.25F);
  EXPECT_EQ(e.ops.seq[0], 2);
  EXPECT_EQ(e.ops.global_model_chunk[0], 1);
  EXPECT_EQ(e.ops.microbatch[0], 3);
  EXPECT_EQ(e.ops.model_chunk[1], -1);
  EXPECT_EQ(e.names[e.ops.optype[0]], "forward-compute");
  // Without a sequence number it cannot be replayed, so it stays a span.
  EXPECT_EQ(e.spans.size(), 1U);
  EXPECT_EQ(e.ranks.at(4).stage, 1);
}

TEST(Spans, BadRowsAreCountedAndUnknownPhasesKept) {
  const Evidence e = import_text(importer_spans, R"({"rank":1,"phase":"warp","start":1,"duration":1}
{"rank":1,"start":1,"duration":1}
{"rank":1,"phase":"gc","duration":1}
{"rank":1,"phase":)",
                                 3);
  EXPECT_EQ(e.spans.size(), 1U);
  EXPECT_TRUE(e.ranks.at(1).relative_time);
  EXPECT_EQ(health_count(e, "unknown_phase"), 1U);
  EXPECT_EQ(health_count(e, "incomplete_span"), 2U);
  EXPECT_EQ(health_count(e, "bad_line"), 1U);
}

TEST(Spans, AWordThatOnlyBeginsLikeNullIsABrokenLine) {
  for (const char* key : {"thread", "group"}) {
    const Evidence e =
        import_text(importer_spans,
                    std::string("{\"rank\":1,\"phase\":\"forward\",\"start\":1,\"duration\":1,\"") +
                        key + "\":na\"m\"i}\n");
    EXPECT_EQ(e.spans.size(), 0U);
    EXPECT_EQ(health_count(e, "bad_line"), 1U);
  }
}

}  // namespace
}  // namespace firstwait
