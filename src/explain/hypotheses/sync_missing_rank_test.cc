#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_sync_missing_rank;
namespace {

using testing::ElementsAre;

Verdict test(const ViewBuilder& b) { return hypothesis_sync_missing_rank.test(b.view()); }

MissingRanks stuck(std::vector<int32_t> missing, std::vector<int32_t> present) {
  MissingRanks m;
  m.group = "0";
  m.group_name = "default";
  m.op = "all_reduce";
  m.seq = 17;
  m.missing = std::move(missing);
  m.present = std::move(present);
  return m;
}

TEST(SyncMissingRank, NamesTheRanksThatNeverArrived) {
  ViewBuilder b(false);
  b.rank(9, "node01").evidence().missing_ranks = {stuck({9, 14}, {0, 1, 2})};
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_THAT(v.where, ElementsAre("rank/9", "rank/14", "host/node01"));
  EXPECT_GE(v.llr, 5);
}

TEST(SyncMissingRank, ARankThatWaitsElsewhereIsAVictim) {
  ViewBuilder b(false);
  b.evidence().missing_ranks = {stuck({3, 12}, {0, 1}), stuck({12}, {3})};
  EXPECT_THAT(test(b).where, ElementsAre("rank/12"));
}

TEST(SyncMissingRank, RanksThatWaitForEachOtherAreAllNamed) {
  ViewBuilder b(false);
  b.evidence().missing_ranks = {stuck({1}, {2}), stuck({2}, {1})};
  EXPECT_THAT(test(b).where, ElementsAre("rank/1", "rank/2"));
}

TEST(SyncMissingRank, CompleteCollectivesRefuteIt) {
  ViewBuilder b(false);
  b.evidence().flight.rank.push_back(0);
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(SyncMissingRank, ADumpWithoutCollectivesProvesNothing) {
  ViewBuilder b(false);
  b.evidence().sources.push_back({"dump_0", "flight_recorder", 2, 100, ""});
  EXPECT_EQ(test(b).outcome, Outcome::untested);
}

TEST(SyncMissingRank, WithoutDumpsItIsUntested) {
  EXPECT_EQ(test(ViewBuilder(false)).outcome, Outcome::untested);
}

}  // namespace
}  // namespace firstwait
