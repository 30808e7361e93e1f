#include "align/flight_recorder.h"

#include <gtest/gtest.h>

namespace firstwait {
namespace {

using Ranks = std::vector<int32_t>;

// Builds the records of a job whose ranks enqueue collectives one after the other.
struct Job {
  Evidence e;
  Ns clock = 1'000'000'000'000'000'000;

  int32_t group(const std::string& name, Ranks members) {
    e.flight_groups.push_back({name, "GROUP_" + name, std::move(members)});
    return static_cast<int32_t>(e.flight_groups.size() - 1);
  }
  void recorded(const Ranks& ranks) { e.flight_ranks = ranks; }
  void enqueue(int32_t rank, int32_t g, int64_t seq, bool completed = false,
               const char* op = "nccl:all_reduce") {
    FlightTable& t = e.flight;
    t.rank.push_back(rank);
    t.group.push_back(g);
    t.record.push_back(static_cast<int64_t>(t.size()));
    t.seq.push_back(seq);
    t.op.push_back(e.names.intern(op));
    t.shape.push_back(e.names.intern("16x" + std::to_string(rank + 1)));
    t.dtype.push_back(e.names.intern("Float"));
    t.completed.push_back(completed ? 1 : 0);
    t.p2p.push_back(0);
    t.created.push_back(clock += 1000);
  }
};

TEST(FlightRecorder, TheRankThatNeverArrivesIsNamedWithTheCollective) {
  Job job;
  const int32_t g = job.group("7", {0, 1, 2, 3});
  job.recorded({0, 1, 2, 3});
  for (const int32_t r : {0, 1, 2, 3}) job.enqueue(r, g, 10, true);
  for (const int32_t r : {3, 1, 0}) job.enqueue(r, g, 11);
  match_flight_records(job.e);
  ASSERT_EQ(job.e.missing_ranks.size(), 1U);
  const MissingRanks& m = job.e.missing_ranks[0];
  EXPECT_EQ(m.group, "7");
  EXPECT_EQ(m.group_name, "GROUP_7");
  EXPECT_EQ(m.op, "nccl:all_reduce");
  EXPECT_EQ(m.size, "16x1");
  EXPECT_EQ(m.dtype, "Float");
  EXPECT_EQ(m.seq, 11);
  EXPECT_EQ(m.missing, Ranks({2}));
  EXPECT_EQ(m.present, Ranks({0, 1, 3}));
}

TEST(FlightRecorder, GroupsThatStandStillOnlyBecauseOfItAreConsequences) {
  Job job;
  const int32_t world = job.group("0", {0, 1, 2, 3}), left = job.group("1", {0, 1}),
                right = job.group("2", {2, 3});
  job.recorded({0, 1, 2, 3});
  // Rank 3 stops before the world's collective 5; 0, 1, 2 run on into their own groups.
  for (const int32_t r : {0, 1, 2}) job.enqueue(r, world, 5);
  job.enqueue(2, right, 9);
  for (const int32_t r : {0, 1}) job.enqueue(r, left, 9);
  match_flight_records(job.e);
  ASSERT_EQ(job.e.missing_ranks.size(), 1U);
  EXPECT_EQ(job.e.missing_ranks[0].group, "0");
  EXPECT_EQ(job.e.missing_ranks[0].missing, Ranks({3}));
  EXPECT_EQ(job.e.missing_ranks[0].consequences, 1);
}

TEST(FlightRecorder, ARankThatWaitsElsewhereIsNotTheOrigin) {
  Job job;
  const int32_t inner = job.group("1", {1, 2}), outer = job.group("2", {0, 1});
  job.recorded({0, 1, 2});
  // 0 waits for 1, 1 waits for 2; 2 does nothing.
  job.enqueue(0, outer, 3);
  job.enqueue(1, inner, 8);
  match_flight_records(job.e);
  ASSERT_EQ(job.e.missing_ranks.size(), 1U);
  EXPECT_EQ(job.e.missing_ranks[0].group, "1");
  EXPECT_EQ(job.e.missing_ranks[0].missing, Ranks({2}));
}

TEST(FlightRecorder, ACircleIsReportedAtItsEarliestCollective) {
  Job job;
  const int32_t a = job.group("1", {0, 1}), b = job.group("2", {0, 1});
  job.recorded({0, 1});
  job.enqueue(0, a, 3);
  job.enqueue(1, b, 3);
  match_flight_records(job.e);
  ASSERT_FALSE(job.e.missing_ranks.empty());
  EXPECT_EQ(job.e.missing_ranks[0].missing.size(), 1U);
}

TEST(FlightRecorder, AMissingDumpIsNoDataAndNotAMissingRank) {
  Job job;
  const int32_t g = job.group("7", {0, 1, 2, 3});
  job.recorded({0, 1, 3});
  for (const int32_t r : {0, 1}) job.enqueue(r, g, 11);
  match_flight_records(job.e);
  ASSERT_EQ(job.e.missing_ranks.size(), 1U);
  EXPECT_EQ(job.e.missing_ranks[0].missing, Ranks({3}));
  EXPECT_EQ(job.e.missing_ranks[0].no_data, Ranks({2}));

  Job all;
  const int32_t h = all.group("7", {0, 1, 2});
  all.recorded({0, 1});
  for (const int32_t r : {0, 1}) all.enqueue(r, h, 11);
  match_flight_records(all.e);
  ASSERT_EQ(all.e.missing_ranks.size(), 1U);
  EXPECT_TRUE(all.e.missing_ranks[0].missing.empty());
  EXPECT_EQ(all.e.missing_ranks[0].no_data, Ranks({2}));
}

TEST(FlightRecorder, CountersOfTheRecorderProveArrivalWhenTheRingForgot) {
  Job job;
  const int32_t g = job.group("7", {0, 1});
  job.recorded({0, 1});
  job.enqueue(0, g, 11);
  job.e.flight_status.push_back({1, g, 12, 11});
  match_flight_records(job.e);
  EXPECT_TRUE(job.e.missing_ranks.empty());
}

TEST(FlightRecorder, AHealthyJobHasNoMissingRanks) {
  Job job;
  const int32_t g = job.group("7", {0, 1, 2});
  job.recorded({0, 1, 2});
  for (const int32_t r : {0, 1, 2}) job.enqueue(r, g, 10, true);
  for (const int32_t r : {0, 1, 2}) job.enqueue(r, g, 11);
  match_flight_records(job.e);
  EXPECT_TRUE(job.e.missing_ranks.empty());
}

TEST(FlightRecorder, MembersWhoseDeviceIsBehindAreNamedToo) {
  Job job;
  const int32_t g = job.group("7", {0, 1, 2});
  job.recorded({0, 1, 2});
  for (const int32_t r : {0, 1, 2}) job.enqueue(r, g, 10, r == 0);
  for (const int32_t r : {0, 1}) job.enqueue(r, g, 11);
  job.e.flight_status = {{0, g, 11, 10}, {1, g, 11, 4}, {2, g, 10, 4}};
  match_flight_records(job.e);
  ASSERT_EQ(job.e.missing_ranks.size(), 1U);
  EXPECT_EQ(job.e.missing_ranks[0].device_behind, Ranks({1, 2}));
}

}  // namespace
}  // namespace firstwait
