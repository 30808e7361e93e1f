// The parts of the method that no published trace shows, on made-up jobs.
#include "attribute/whatif/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "attribute/testing/made_up.h"

namespace firstwait::whatif {
namespace {

using testing::IsSupersetOf;
using testing::UnorderedElementsAre;

using Name = std::string;  // "forward-compute 0 @1": type, seq, stage

struct Built {
  Job job;
  Graph graph;
  Name name(uint32_t i) const {
    const Op& op = job.ops[i];
    return std::string(kOpTypeNames[index(op.type)]) + " " + std::to_string(op.seq) + " @" +
           std::to_string(op.stage);
  }
  uint32_t find(const Name& n) const {
    for (uint32_t i = 0; i < job.ops.size(); ++i)
      if (name(i) == n) return i;
    ADD_FAILURE() << "no operation " << n;
    return 0;
  }
  std::set<Name> deps(const Name& n) const {
    std::set<Name> names;
    for (const uint32_t d : graph.op_deps[find(n)]) names.insert(name(d));
    return names;
  }
  std::set<Name> group(const Name& n) const {
    const Group& g = graph.groups[graph.group_of[find(n)]];
    std::set<Name> names;
    for (uint32_t m = 0; m < g.members; ++m) names.insert(name(graph.member[g.first_member + m]));
    return names;
  }
  bool over_dp(const Name& n) const { return graph.groups[graph.group_of[find(n)]].over_dp; }
};

Built build(const MadeUp& m) {
  auto job = load_job(m.evidence);
  EXPECT_TRUE(job.ok()) << job.error().what;
  auto graph = build_graph(*job);
  EXPECT_TRUE(graph.ok()) << graph.error().what;
  return {*job, *graph};
}

// Two stages of two model chunks each: chunk 0 of stage 0, 0 of 1, 1 of 0 (wrap-around), 1 of 1.
MadeUp interleaved() {
  MadeUp m;
  m.at(0, 0)
      .op("forward-compute", 0, 0.0, 1.0, 0, 0)
      .op("forward-send", 0, 1.0, 0.1)
      .op("forward-recv", 0, 1.0, 1.1)  // one fewer than computes: the first compute has none
      .op("forward-compute", 1, 2.2, 1.0, 1, 2)
      .op("forward-send", 1, 3.2, 0.1)
      .op("backward-recv", 0, 3.0, 3.4)
      .op("backward-compute", 0, 6.4, 1.0, 1, 2)
      .op("backward-send", 0, 7.4, 0.1)
      .op("backward-recv", 1, 7.4, 1.2)
      .op("backward-compute", 1, 8.6, 1.0, 0, 0);
  m.at(0, 1)
      .op("forward-recv", 0, 0.0, 1.1)
      .op("forward-compute", 0, 1.1, 1.0, 0, 1)
      .op("forward-send", 0, 2.1, 0.1)
      .op("forward-recv", 1, 2.1, 1.2)
      .op("forward-compute", 1, 3.3, 1.0, 1, 3)
      .op("forward-send", 1, 4.3, 0.0)  // beyond the model: a no-op
      .op("backward-compute", 0, 5.3, 1.0, 1, 3)
      .op("backward-send", 0, 6.3, 0.1)
      .op("backward-recv", 0, 6.3, 1.2)
      .op("backward-compute", 1, 7.5, 1.0, 0, 1)
      .op("backward-send", 1, 8.5, 0.1);
  return m;
}

TEST(WhatIfGraph, ModelChunksBeyondTheOperationsAreNotBelieved) {
  MadeUp m;
  m.at(0, 0)
      .op("forward-compute", 0, 0.0, 1.0, INT32_MAX, -1)
      .op("backward-compute", 0, 1.0, 1.0, 0, INT32_MAX);
  const auto job = load_job(m.evidence);
  ASSERT_TRUE(job.ok()) << job.error().what;
  EXPECT_EQ(job->chunks, 1U);
  for (const Op& op : job->ops) EXPECT_EQ(op.global_chunk, 0);
}

TEST(WhatIfGraph, WrapAroundPairsJoinTheLastStageOfAChunkWithTheFirstOfTheNext) {
  const Built b = build(interleaved());
  EXPECT_EQ(b.job.chunks, 2U);
  EXPECT_THAT(b.group("forward-send 0 @1"),
              UnorderedElementsAre("forward-send 0 @1", "forward-recv 0 @0"));
  EXPECT_THAT(b.group("forward-send 0 @0"),
              UnorderedElementsAre("forward-send 0 @0", "forward-recv 0 @1"));
  EXPECT_THAT(b.group("forward-send 1 @0"),
              UnorderedElementsAre("forward-send 1 @0", "forward-recv 1 @1"));
  EXPECT_THAT(b.group("backward-send 0 @0"),
              UnorderedElementsAre("backward-send 0 @0", "backward-recv 0 @1"));
  EXPECT_THAT(b.group("backward-send 0 @1"),
              UnorderedElementsAre("backward-send 0 @1", "backward-recv 0 @0"));
  EXPECT_THAT(b.group("backward-send 1 @1"),
              UnorderedElementsAre("backward-send 1 @1", "backward-recv 1 @0"));
}

TEST(WhatIfGraph, ASendBeyondTheModelSynchronisesWithNothing) {
  const Built b = build(interleaved());
  EXPECT_THAT(b.group("forward-send 1 @1"), UnorderedElementsAre("forward-send 1 @1"));
}

TEST(WhatIfGraph, WithOneRecvFewerTheFirstComputeHasNone) {
  const Built b = build(interleaved());
  EXPECT_TRUE(b.deps("forward-compute 0 @0").empty());
  EXPECT_THAT(b.deps("forward-compute 1 @0"),
              UnorderedElementsAre("forward-recv 0 @0", "forward-compute 0 @0"));
  EXPECT_THAT(b.deps("forward-recv 0 @0"), UnorderedElementsAre("forward-compute 0 @0"));
  // As many recvs as computes: the k-th belongs to the k-th.
  EXPECT_THAT(b.deps("forward-compute 0 @1"), UnorderedElementsAre("forward-recv 0 @1"));
  EXPECT_THAT(b.deps("forward-recv 1 @1"),
              UnorderedElementsAre("forward-recv 0 @1", "forward-compute 0 @1"));
}

TEST(WhatIfGraph, TheFirstBackwardTransfersWaitForTheComputeTwoBeforeTheFirstBackward) {
  MadeUp m;
  m.at(0, 0)
      .op("forward-compute", 0, 0, 1, 0, 0)
      .op("forward-compute", 1, 1, 1, 0, 0)
      .op("forward-compute", 2, 2, 1, 0, 0)
      .op("backward-recv", 0, 2.5, 1)
      .op("backward-compute", 0, 4, 1, 0, 0)
      .op("backward-send", 0, 5, 0.1);
  m.at(0, 1).op("backward-send", 0, 3, 0.5).op("backward-compute", 0, 2, 1, 0, 1);
  const Built b = build(m);
  EXPECT_THAT(b.deps("backward-recv 0 @0"), testing::Contains("forward-compute 1 @0"));
  EXPECT_THAT(b.deps("backward-send 0 @0"), testing::Contains("forward-compute 1 @0"));
  EXPECT_THAT(b.deps("backward-send 0 @1"), UnorderedElementsAre("backward-compute 0 @1"));
}

TEST(WhatIfGraph, ARecvAfterTheLastComputeBeganBelongsToNone) {
  MadeUp m;
  m.at(0, 0)
      .op("forward-compute", 0, 1.0, 1.0, 0, 0)
      .op("forward-recv", 0, 1.00004, 0.1)  // within 50 µs
      .op("forward-recv", 1, 1.00010, 0.1)  // later
      .op("forward-send", 0, 1.0, 0.99)     // ends before the first compute does
      .op("forward-send", 1, 2.0, 0.1);
  const Built b = build(m);
  EXPECT_THAT(b.deps("forward-compute 0 @0"), UnorderedElementsAre("forward-recv 0 @0"));
  EXPECT_THAT(b.deps("forward-send 1 @0"),
              UnorderedElementsAre("forward-send 0 @0", "forward-compute 0 @0"));
  EXPECT_TRUE(b.deps("forward-send 0 @0").empty());
}

// One stage, two dp ranks, two chunks with several gathers and scatters.
MadeUp sharded(bool separate) {
  MadeUp m;
  for (const int dp : {0, 1}) {
    m.at(dp, 0)
        .op("params-all-gather", 0, 0.0, 0.1, 0)
        .op("params-all-gather", 1, 0.1, 0.1, 1)
        .op("params-all-gather", 2, 0.2, 0.1, 0)
        .op("forward-compute", 0, 0.5, 1, 0, 0)
        .op("forward-compute", 1, 1.5, 1, 1, 1)
        .op("forward-compute", 2, 2.5, 1, 0, 0)
        .op("backward-compute", 0, 3.5, 1, 1, 1)
        .op("backward-compute", 1, 4.5, 1, 0, 0)
        .op("gc", 0, 5.5, 0.1)
        .op("layernorm-grads-all-reduce", 0, 5.7, 0.1)
        .op("embedding-grads-all-reduce", 0, 5.8, 0.1);
    const double at = separate ? 4.6 : 6.0;
    m.op("grads-reduce-scatter", 0, at, 0.1, 1).op("grads-reduce-scatter", 1, at + 1, 0.1, 0);
    m.op("grads-reduce-scatter", 2, at + 1.1, 0.1, 0);
    if (separate) m.op("separate-grads-all-reduce", 0, 6.0, 0.1);
    m.op("optimizer-clip-main-grad", 0, 8, 0.1).op("optimizer", 0, 9, 0.1);
  }
  return m;
}

TEST(WhatIfGraph, TheLastAllGatherOfAChunkPrecedesItsFirstForward) {
  const Built b = build(sharded(false));
  EXPECT_THAT(b.deps("forward-compute 0 @0"), UnorderedElementsAre("params-all-gather 2 @0"));
  EXPECT_THAT(b.deps("forward-compute 1 @0"),
              UnorderedElementsAre("forward-compute 0 @0", "params-all-gather 1 @0"));
  EXPECT_THAT(b.deps("forward-compute 2 @0"), UnorderedElementsAre("forward-compute 1 @0"));
  EXPECT_THAT(b.deps("params-all-gather 1 @0"), UnorderedElementsAre("params-all-gather 0 @0"));
  EXPECT_TRUE(b.over_dp("params-all-gather 1 @0"));
}

TEST(WhatIfGraph, WithoutSeparateReductionTheScattersFollowTheTail) {
  const Built b = build(sharded(false));
  EXPECT_THAT(b.deps("gc 0 @0"), UnorderedElementsAre("backward-compute 1 @0"));
  EXPECT_THAT(b.deps("layernorm-grads-all-reduce 0 @0"), UnorderedElementsAre("gc 0 @0"));
  EXPECT_THAT(b.deps("embedding-grads-all-reduce 0 @0"),
              UnorderedElementsAre("layernorm-grads-all-reduce 0 @0"));
  EXPECT_THAT(b.deps("grads-reduce-scatter 0 @0"),
              UnorderedElementsAre("params-all-gather 2 @0", "embedding-grads-all-reduce 0 @0"));
  EXPECT_THAT(b.deps("optimizer-clip-main-grad 0 @0"),
              UnorderedElementsAre("grads-reduce-scatter 2 @0"));
  EXPECT_THAT(b.deps("optimizer 0 @0"), UnorderedElementsAre("optimizer-clip-main-grad 0 @0"));
}

TEST(WhatIfGraph, WithSeparateReductionTheScattersOverlapBackward) {
  const Built b = build(sharded(true));
  EXPECT_THAT(b.deps("grads-reduce-scatter 0 @0"), IsSupersetOf({"backward-compute 0 @0"}));
  EXPECT_THAT(b.deps("grads-reduce-scatter 1 @0"), IsSupersetOf({"backward-compute 1 @0"}));
  EXPECT_THAT(b.deps("grads-reduce-scatter 2 @0"),
              UnorderedElementsAre("grads-reduce-scatter 1 @0"));
  EXPECT_THAT(b.deps("layernorm-grads-all-reduce 0 @0"),
              UnorderedElementsAre("gc 0 @0", "grads-reduce-scatter 2 @0"));
  EXPECT_THAT(b.deps("separate-grads-all-reduce 0 @0"),
              UnorderedElementsAre("embedding-grads-all-reduce 0 @0"));
  EXPECT_THAT(b.deps("optimizer-clip-main-grad 0 @0"),
              UnorderedElementsAre("separate-grads-all-reduce 0 @0"));
  EXPECT_TRUE(b.over_dp("separate-grads-all-reduce 0 @0"));
}

TEST(WhatIfGraph, WithoutDataParallelismScattersAreNotPartOfTheTail) {
  MadeUp m;
  m.at(0, 0)
      .op("params-all-gather", 0, 0, 0.1, 0)
      .op("forward-compute", 0, 1, 1, 0, 0)
      .op("backward-compute", 0, 2, 1, 0, 0)
      .op("gc", 0, 3, 0.1)
      .op("optimizer-clip-main-grad", 0, 4, 0.1)
      .op("optimizer", 0, 5, 0.1);
  const Built b = build(m);
  EXPECT_THAT(b.deps("optimizer-clip-main-grad 0 @0"), UnorderedElementsAre("gc 0 @0"));
  EXPECT_TRUE(b.deps("forward-compute 0 @0").empty());
}

TEST(WhatIfGraph, EmbeddingJoinsFirstAndLastStageAndClipAllStages) {
  MadeUp m;
  for (const int stage : {0, 1, 2}) {
    m.at(0, stage)
        .op("forward-compute", 0, 0, 1, 0, stage)
        .op("embedding-grads-all-reduce", 0, 2, 0.1);
    m.op("optimizer-clip-main-grad", 0, 3, 0.1);
  }
  const Built b = build(m);
  EXPECT_THAT(
      b.group("embedding-grads-all-reduce 0 @0"),
      UnorderedElementsAre("embedding-grads-all-reduce 0 @0", "embedding-grads-all-reduce 0 @2"));
  EXPECT_EQ(b.group("optimizer-clip-main-grad 0 @1").size(), 3U);
  EXPECT_TRUE(b.over_dp("optimizer-clip-main-grad 0 @1"));
}

TEST(WhatIfGraph, OperationsThatWaitInACircleAreAnError) {
  MadeUp m;
  // Stage 0 says that it ran backward first, stage 1 that it ran forward first: each waits for the
  // other's transfer.
  m.at(0, 0)
      .op("backward-recv", 0, 0, 1)
      .op("backward-compute", 0, 1, 1, 0, 0)
      .op("forward-compute", 0, 2, 1, 0, 0);
  m.op("forward-send", 0, 3, 1);
  m.at(0, 1)
      .op("forward-recv", 0, 0, 1)
      .op("forward-compute", 0, 1, 1, 0, 1)
      .op("backward-compute", 0, 2, 1, 0, 1);
  m.op("backward-send", 0, 3, 1);
  const auto job = load_job(m.evidence);
  ASSERT_TRUE(job.ok());
  const auto graph = build_graph(*job);
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.error().what, testing::HasSubstr("circle"));
}

TEST(WhatIfGraph, EveryGroupFollowsWhatItWaitsFor) {
  for (const Built& b : {build(interleaved()), build(sharded(true)), build(sharded(false))}) {
    std::vector<size_t> place(b.job.ops.size());
    for (size_t g = 0; g < b.graph.groups.size(); ++g) {
      const Group& group = b.graph.groups[g];
      for (uint32_t k = 0; k < group.members; ++k)
        place[b.graph.member[group.first_member + k]] = g;
    }
    for (size_t i = 0; i < b.job.ops.size(); ++i)
      for (const uint32_t d : b.graph.op_deps[i]) EXPECT_LT(place[d], place[i]);
  }
}

}  // namespace
}  // namespace firstwait::whatif
