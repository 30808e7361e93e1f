#include "explain/headline.h"

#include <gtest/gtest.h>

namespace firstwait {
namespace {

Report with_finding(std::string cause, double confidence) {
  Report r;
  r.rank_ids = {0, 1, 2, 3};
  r.attribution.pattern.kind = PatternKind::step;
  r.attribution.slowdown = 4.8;
  r.attribution.onset = Onset{.step = 61240, .time = kNoTime, .step_lo = 61238, .step_hi = 61241};
  r.attribution.steps.step.resize(10);
  r.attribution.ledger.push_back({Phase::input_wait, 0.458, 0.8, 0.002, {}});
  Finding f;
  f.cause = std::move(cause);
  f.confidence = confidence;
  f.verdict.because = "reads are at the 500 MB/s ceiling";
  r.findings.push_back(f);
  return r;
}

TEST(Headline, SaysHowMuchSinceWhenWhoAndWhy) {
  Report r = with_finding("storage.throughput_ceiling", 0.94);
  headline(r);
  EXPECT_EQ(r.headline,
            "4.8× slower since step 61,240. All 4 ranks wait for input, because reads are at the 500 MB/s ceiling.");
  EXPECT_EQ(r.verdict_word, "very likely");
}

TEST(Headline, StartUpIsNotWhyTheJobIsSlow) {
  Report r = with_finding("workload.compile_warmup", 0.94);
  r.attribution.pattern.kind = PatternKind::none;
  r.findings[0].cost_share = 0;
  headline(r);
  EXPECT_EQ(r.verdict_word, "undetermined");
}

TEST(Headline, AFactWithoutALedgerIsToldAlone) {
  Report r = with_finding("network.wrong_transport", 0.94);
  r.attribution = {};
  headline(r);
  EXPECT_EQ(r.headline, "Reads are at the 500 MB/s ceiling.");
}

TEST(Headline, BelowOneHalfNothingIsAccused) {
  Report r = with_finding("storage.throughput_ceiling", 0.4);
  headline(r);
  EXPECT_EQ(r.verdict_word, "undetermined");
  EXPECT_EQ(r.headline.find("because"), std::string::npos);
}

TEST(Headline, AReplayThatMissesTheStepIsInconclusive) {
  Report r = with_finding("sync.straggler", 0.94);
  r.attribution.replay_error = 0.07;
  headline(r);
  EXPECT_EQ(r.verdict_word, "inconclusive");
}

TEST(Headline, NoStepsCannotBeJudged) {
  Report r;
  headline(r);
  EXPECT_EQ(r.verdict_word, "undetermined");
  EXPECT_NE(r.headline.find("Cannot judge"), std::string::npos);
}

}  // namespace
}  // namespace firstwait
