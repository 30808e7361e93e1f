#include "explain/ranking.h"

#include <gtest/gtest.h>

#include <cmath>

#include "explain/testing/view_builder.h"
#include "explain/weigh.h"

namespace firstwait {
namespace {

constexpr Phase kInput[] = {Phase::input_wait};
constexpr Phase kCollective[] = {Phase::collective};

Hypothesis hypothesis(std::string_view id, std::span<const Phase> phases) {
  return {.id = id,
          .claim = id,
          .decides = "",
          .accounts_for = phases,
          .needs = {},
          .thresholds = {},
          .checklist_step = 1,
          .prior = 0,
          .test = nullptr};
}

Tested supported(const Hypothesis& h, double llr, std::vector<std::string> where = {}) {
  Tested t;
  t.hypothesis = &h;
  t.verdict.outcome = Outcome::supported;
  t.verdict.llr = llr;
  t.verdict.where = std::move(where);
  return t;
}

ViewBuilder slow_input() {
  ViewBuilder b;
  b.phase(Phase::input_wait, 0.4, 0.01)
      .phase(Phase::collective, 0.1, 0.01)
      .phase(Phase::forward, 0.1, 0.1);
  return b;
}

TEST(Ranking, ALoneCauseCompetesWithUnknown) {
  const auto b = slow_input();
  const Hypothesis h = hypothesis("input.cpu_saturated", kInput);
  std::vector<Tested> tested = {supported(h, 3)};
  rank(b.view(), 0, tested);
  EXPECT_NEAR(tested[0].confidence, std::exp(3) / (1 + std::exp(3)), 1e-12);
  EXPECT_EQ(tested[0].cell, Phase::input_wait);
}

TEST(Ranking, RivalsForOnePhaseShareTheirConfidence) {
  const auto b = slow_input();
  const Hypothesis x = hypothesis("input.cpu_saturated", kInput),
                   y = hypothesis("storage.metadata", kInput);
  std::vector<Tested> tested = {supported(x, 3), supported(y, 3)};
  rank(b.view(), 0, tested);
  EXPECT_LT(tested[0].confidence, 0.5);
  EXPECT_DOUBLE_EQ(tested[0].confidence, tested[1].confidence);
}

TEST(Ranking, CausesOfDifferentPhasesDoNotCompete) {
  const auto b = slow_input();
  const Hypothesis x = hypothesis("input.cpu_saturated", kInput),
                   y = hypothesis("network.congestion", kCollective);
  std::vector<Tested> tested = {supported(x, 3), supported(y, 3)};
  rank(b.view(), 0, tested);
  EXPECT_GT(tested[0].confidence, 0.9);
  EXPECT_GT(tested[1].confidence, 0.9);
}

TEST(Ranking, AStragglerBecomesALinkOfTheCauseAtItsPlace) {
  const auto b = slow_input();
  const Hypothesis straggler = hypothesis("sync.straggler", kCollective);
  const Hypothesis hot = hypothesis("gpu.thermal_throttle", kCollective);
  std::vector<Tested> tested = {supported(straggler, 4, {"rank/3"}),
                                supported(hot, 3, {"gpu/a:0", "rank/3"})};
  rank(b.view(), 0, tested);
  EXPECT_EQ(tested[0].deeper, &hot);
  EXPECT_GT(tested[1].confidence, 0.9);
}

TEST(Ranking, AStragglerElsewhereStaysItsOwnFinding) {
  const auto b = slow_input();
  const Hypothesis straggler = hypothesis("sync.straggler", kCollective);
  const Hypothesis hot = hypothesis("gpu.thermal_throttle", kCollective);
  std::vector<Tested> tested = {supported(straggler, 4, {"rank/3"}), supported(hot, 3, {"rank/5"})};
  rank(b.view(), 0, tested);
  EXPECT_EQ(tested[0].deeper, nullptr);
}

TEST(Ranking, LostDataMakesEveryCauseLessSure) {
  constexpr HealthCounter kLost{"lost", Severity::data_loss, "copy again"};
  Evidence lossy;
  EXPECT_EQ(doubt_from_health(lossy), 0);
  lossy.health.add("a", kLost);
  EXPECT_EQ(doubt_from_health(lossy), 0.5);
  for (const char* source : {"b", "c", "d", "e"}) lossy.health.add(source, kLost);
  EXPECT_EQ(doubt_from_health(lossy), 1.5);
  const auto b = slow_input();
  const Hypothesis h = hypothesis("input.cpu_saturated", kInput);
  std::vector<Tested> sure = {supported(h, 3)}, unsure = {supported(h, 3)};
  rank(b.view(), 0, sure);
  rank(b.view(), 1.5, unsure);
  EXPECT_LT(unsure[0].confidence, sure[0].confidence);
}

TEST(Ranking, WhatMayBeWrongProvesNothingByItself) {
  constexpr HealthCounter kWrong{"corrupt_archive", Severity::data_loss, "copy again"};
  Evidence e;
  e.health.add("a", kWrong);
  e.sources = {{"a", "chrome_trace", 1, 1000, ""}};
  const auto b = slow_input();
  const Hypothesis h = hypothesis("input.cpu_saturated", kInput);
  std::vector<Tested> tested = {supported(h, kStrong)};
  rank(b.view(), doubt_from_health(e), tested);
  EXPECT_LT(tested[0].confidence, 0.2);
  // A little of it beside much that is sound hardly matters.
  e.sources.push_back({"b", "chrome_trace", 1, 99'000, ""});
  rank(b.view(), doubt_from_health(e), tested);
  EXPECT_GT(tested[0].confidence, 0.9);
}

TEST(Ranking, ConfidenceNeverReachesOne) {
  const auto b = slow_input();
  const Hypothesis h = hypothesis("input.cpu_saturated", kInput);
  std::vector<Tested> tested = {supported(h, 50)};
  rank(b.view(), 0, tested);
  EXPECT_EQ(tested[0].confidence, kMostConfidence);
}

TEST(Registry, EveryHypothesisIsNamedLikeItsFileAndComplete) {
  for (const auto& entry : hypotheses()) {
    const auto& h = *entry.module;
    std::string id(h.id);
    const size_t dot = id.find('.');
    ASSERT_NE(dot, std::string::npos) << id;
    id[dot] = '_';
    EXPECT_EQ(id, entry.file);
    EXPECT_FALSE(h.claim.empty()) << h.id;
    EXPECT_FALSE(h.decides.empty()) << h.id;
    EXPECT_FALSE(h.needs.empty()) << h.id;
    EXPECT_GE(h.checklist_step, 1) << h.id;
    EXPECT_LE(h.checklist_step, 7) << h.id;
    for (const auto& t : h.thresholds) EXPECT_FALSE(t.source.empty()) << h.id << " " << t.name;
  }
}

TEST(Registry, NothingIsSupportedFromNothing) {
  const Evidence evidence;
  const Attribution attribution;
  for (const auto& t : test_all({evidence, attribution})) {
    EXPECT_EQ(t.verdict.outcome, Outcome::untested) << t.hypothesis->id;
    EXPECT_FALSE(t.verdict.needs.empty()) << t.hypothesis->id;
  }
}

TEST(Ranking, LossAtTheSenderIsHowALinkThatFlapsElsewhereShows) {
  ViewBuilder b;
  b.phase(Phase::collective, 0.4, 0.01);
  const auto flap = hypothesis("network.link_flap", kCollective);
  const auto loss = hypothesis("network.loss_retransmission", kCollective);
  std::vector<Tested> tested = {supported(flap, 3, {"nic/c:eth0"}), supported(loss, 4, {"host/b"})};
  rank(b.view(), 0, tested);
  EXPECT_EQ(tested[1].deeper, &flap);
  EXPECT_GT(tested[0].confidence, 0.9);
}

TEST(Ranking, TheRankThatLogsIsLateBecauseItLogs) {
  ViewBuilder b;
  b.phase(Phase::logging, 0.4, 0.01);
  constexpr Phase kLogging[] = {Phase::logging};
  const auto stall = hypothesis("workload.logging_stall", kLogging);
  const auto late = hypothesis("sync.straggler", kLogging);
  std::vector<Tested> tested = {supported(stall, 4, {"rank/0"}), supported(late, 5, {"rank/0"})};
  rank(b.view(), 0, tested);
  EXPECT_EQ(tested[1].deeper, &stall);
}

TEST(Ranking, TheCauseAtTheEndOfAChainIsTheFinding) {
  ViewBuilder b;
  b.phase(Phase::logging, 0.4, 0.01);
  constexpr Phase kLogging[] = {Phase::logging};
  const auto late = hypothesis("sync.straggler", kLogging);
  const auto saturated = hypothesis("input.cpu_saturated", kLogging);
  const auto neighbour = hypothesis("contention.cpu", kLogging);
  std::vector<Tested> tested = {supported(late, 5, {"rank/0"}), supported(saturated, 4, {"rank/0"}),
                                supported(neighbour, 4, {"rank/0"})};
  rank(b.view(), 0, tested);
  EXPECT_EQ(tested[1].deeper, &neighbour);
  EXPECT_EQ(tested[0].deeper, &neighbour);
  EXPECT_GT(tested[2].confidence, 0.9);
}

// Ranks 0 and 1 stall in turn; `phase` says in what.
ViewBuilder stalls_in_turn(Phase phase) {
  ViewBuilder b = slow_input();
  auto& a = b.attribution();
  auto& t = b.evidence().steps;
  a.ranks.steps = 60;
  a.ranks.ranks = {0, 1};
  for (int32_t r = 0; r < 2; ++r)
    for (int32_t s = 0; s < 60; ++s) {
      const bool late = s % 4 == 0 && s / 4 % 2 == r;
      a.ranks.own_time.push_back(late ? 303'400'000 : 103'400'000);
      const auto row = t.append(kNoName, r, s, kNoTime, 300'000'000);
      t.set_phase(row, Phase::input_wait, 1'000'000);
      t.set_phase(row, phase, late ? 201'000'000 : 1'000'000);
    }
  for (int32_t s = 0; s < 60; ++s) {
    a.steps.step.push_back(s);
    a.steps.time.push_back(s % 4 == 0 ? 300'000'000 : 100'000'000);
    a.steps.segment.push_back(SegmentKind::steady);
  }
  return b;
}

TEST(Ranking, StallsInTurnBelongToTheInputOnlyWhenTheyWaitForIt) {
  const Hypothesis turns = hypothesis("sync.rotating_straggler", kCollective);
  const Hypothesis disk = hypothesis("storage.latency", kInput);
  for (const Phase phase : {Phase::input_wait, Phase::host}) {
    const auto b = stalls_in_turn(phase);
    std::vector<Tested> tested = {supported(turns, 3), supported(disk, 3, {"storage/x"})};
    rank(b.view(), 0, tested);
    EXPECT_EQ(tested[0].deeper, phase == Phase::input_wait ? &disk : nullptr);
  }
}

}  // namespace
}  // namespace firstwait
