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
            "4.8× slower since step 61,240. All 4 ranks wait for input, because reads are at the "
            "500 MB/s ceiling.");
  EXPECT_EQ(r.verdict_word, "very likely");
}

TEST(Headline, TheRankThatWaitsIsNamed) {
  Report r = with_finding("storage.throughput_ceiling", 0.94);
  r.attribution.ledger.front().ranks = {1};
  headline(r);
  EXPECT_NE(r.headline.find(" Rank 1 waits for input, because "), std::string::npos) << r.headline;
  r.attribution.ledger.front().ranks = {1, 3};
  headline(r);
  EXPECT_NE(r.headline.find(" 2 of 4 ranks wait for input, "), std::string::npos) << r.headline;
}

TEST(Headline, WhereInputIsLateThePeriodOfItsLoaderIsNotTold) {
  Report r = with_finding("network.congestion", 0.94);
  r.attribution.pattern.kind = PatternKind::periodic;
  r.attribution.pattern.period_steps = 2;
  r.attribution.pattern.period_ratio = 2.3;
  headline(r);
  EXPECT_EQ(r.headline.find("Every 2 steps"), 0U) << r.headline;
  for (const auto* cause : {"storage.latency", "sync.straggler"}) {
    r.findings.front().cause = cause;
    headline(r);
    EXPECT_EQ(r.headline.find("Every"), std::string::npos) << r.headline;
  }
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

Report without_finding(PatternKind kind) {
  Report r = with_finding("storage.latency", 0.9);
  r.findings.clear();
  r.attribution.pattern.kind = kind;
  r.attribution.current_s = 0.57;
  return r;
}

TEST(Headline, WhatWaitsIsSaidAlsoWithoutACause) {
  Report r = without_finding(PatternKind::step);
  r.attribution.ledger.push_back({Phase::backward, 0.112, 0.2, 0.112, {}});
  r.untested.push_back({"storage.latency", {"x"}, true});
  headline(r);
  EXPECT_NE(r.headline.find("Waiting for input grew from 2 ms to 0.458 s a step."),
            std::string::npos)
      << r.headline;
  EXPECT_NE(r.headline.find("storage.latency"), std::string::npos) << r.headline;
}

TEST(Headline, WithoutPhasesNoCausesArePicked) {
  Report r = without_finding(PatternKind::step);
  r.attribution.ledger = {{Phase::unexplained, 0.57, 1, 0.112, {}}};
  r.untested.push_back({"change.config", {"x"}, true});
  headline(r);
  EXPECT_EQ(r.headline.find("change.config"), std::string::npos) << r.headline;
}

TEST(Headline, ASlowStretchThatIsOverIsTold) {
  Report r = without_finding(PatternKind::none);
  Episode e;
  e.first_step = 1000;
  e.last_step = 1499;
  e.ratio = 2;
  e.seconds_per_step = 0.14;
  r.attribution.episodes.push_back(e);
  headline(r);
  EXPECT_NE(r.headline.find("Steps 1,000 to 1,499 took 2.0× as long"), std::string::npos)
      << r.headline;
  EXPECT_EQ(r.headline.find("No slowdown"), std::string::npos) << r.headline;
}

TEST(Headline, TheOneSlowStepIsNamed) {
  Report r = without_finding(PatternKind::intermittent);
  Outlier o;
  o.step = 5;
  o.ratio = 1.43;
  r.attribution.outliers.push_back(o);
  headline(r);
  EXPECT_NE(r.headline.find("step 5 took 1.43×"), std::string::npos) << r.headline;
}

TEST(Headline, TransferIsNoLateWork) {
  Report r = with_finding("sync.communication_bound", 0.9);
  headline(r);
  EXPECT_EQ(r.headline.find("late work"), std::string::npos) << r.headline;
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

TEST(Headline, TimeBetweenStepsIsToldWithItsShare) {
  Report r;
  r.rank_ids = {0, 1};
  auto& a = r.attribution;
  a.pattern.kind = PatternKind::chronic;
  a.current_s = 1.0;
  a.productive_fraction = 0.37;
  a.steps.step.resize(10);
  a.ledger.push_back({Phase::unexplained, 0.63, 0.63, {}, {}});
  a.ledger.push_back({Phase::forward, 0.37, 0.37, {}, {}});
  r.next_measurements.push_back({"what runs between steps", {}});
  headline(r, 0.6);
  EXPECT_EQ(r.headline,
            "Computes 37 % of each step. 60 % of the time lies between steps, 0.600 s each time, "
            "and nothing recorded says what happens there. The cause is not clear. To decide: what "
            "runs between steps.");
  headline(r, 0.1);  // most of it lies within the steps
  EXPECT_EQ(r.headline.find("between steps,"), std::string::npos) << r.headline;
}

TEST(Headline, OfSingleSlowStepsItSaysInWhatTheyLoseTheirTime) {
  Report r;
  r.rank_ids = {0, 1};
  auto& a = r.attribution;
  a.pattern.kind = PatternKind::intermittent;
  a.pattern.cost_s_per_step = 0.08;
  a.current_s = 1.0;
  a.steps.step.resize(100);
  a.ledger.push_back({Phase::forward, 0.92, 0.92, {}, {}});
  a.ledger.push_back({Phase::input_wait, 0.08, 0.08, {}, {}});
  a.outliers.resize(10);
  for (Outlier& o : a.outliers) o.phase = Phase::input_wait;
  headline(r);
  EXPECT_NE(r.headline.find("Waiting for input is 80 ms of each step of 1.00 s"), std::string::npos)
      << r.headline;
}

TEST(Headline, ALonePauseIsToldWithItsLengthAndPlace) {
  Report r;
  r.rank_ids = {0};
  r.attribution.steps.step.resize(200);
  const Ns at = 1'764'500'000'000'000'000;
  r.events.push_back({"pause", "job/j", at, at + 300'000'000'000, {{"step", "120"}}, "all inputs"});
  headline(r);
  EXPECT_NE(r.headline.find("A pause of 300 s lies between steps 119 and 120, cause unknown"),
            std::string::npos)
      << r.headline;
}

TEST(Headline, WithoutStepsItSaysWhatWasRead) {
  Report r;
  r.sources.push_back({"a/smi.xml", "nvidia_smi", 2, 100, ""});
  headline(r);
  EXPECT_NE(r.headline.find("(smi.xml as nvidia_smi)"), std::string::npos) << r.headline;
}

TEST(Headline, WhatIsOverIsToldBesideAHealthyPresent) {
  Report r = with_finding("healthy.compute_bound", 0.94);
  r.attribution.pattern.kind = PatternKind::none;
  r.attribution.onset.reset();
  r.attribution.productive_fraction = 0.93;
  headline(r);
  EXPECT_EQ(r.headline, "Nothing waits: GPUs compute 93 % of each step.");
  Episode e;
  e.first_step = 120, e.last_step = 159, e.ratio = 2.1, e.seconds_per_step = 0.3;
  r.attribution.episodes.push_back(e);
  headline(r);
  EXPECT_EQ(r.headline,
            "Steps 120 to 159 took 2.1× as long as those around them; that is over. Nothing waits "
            "now: GPUs compute 93 % of each step.");
}

}  // namespace
}  // namespace firstwait
