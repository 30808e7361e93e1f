#include "import/contradictions.h"

#include <gtest/gtest.h>

#include "import/import_testing.h"

namespace firstwait {
namespace {

TEST(Contradictions, AJobOfAnotherNameThanAllStepsIsToldWithBothNames) {
  Evidence e;
  e.job.id = "another";
  e.steps.append(e.names.intern("j"), 0, 0, kNoTime, 10);
  tell_contradictions(e);
  EXPECT_EQ(health_count(e, "job_of_another_name"), 1U);
  EXPECT_EQ(e.health.entries().front().first_place, "job.yaml says another, the steps say j");
}

TEST(Contradictions, StepsOfTheNamedJobOrOfNoneAgree) {
  for (const char* name : {"j", ""}) {
    Evidence e;
    e.job.id = "j";
    e.steps.append(*name == 0 ? kNoName : e.names.intern(name), 0, 0, kNoTime, 10);
    tell_contradictions(e);
    EXPECT_TRUE(e.health.entries().empty()) << name;
  }
}

TEST(Contradictions, AWorldSizeOfTwoBillionIsToldAndUnknown) {
  Evidence e;
  e.job.world_size = 2'000'000'000;
  tell_contradictions(e);
  EXPECT_EQ(health_count(e, "impossible_world_size"), 1U);
  EXPECT_EQ(e.job.world_size, -1);
}

TEST(Contradictions, ALayoutMustGiveTheWorldSize) {
  for (const auto& [size, told] : {std::pair{8, 0U}, {16, 1U}}) {
    Evidence e;
    e.job.world_size = size;
    e.job.dp = 4, e.job.tp = 1, e.job.pp = 2;
    tell_contradictions(e);
    EXPECT_EQ(health_count(e, "layout_contradicts_size"), told) << size;
  }
}

TEST(Contradictions, EachRankOutsideTheWorldCountsOnce) {
  Evidence e;
  e.job.world_size = 2;
  for (int32_t step = 0; step < 3; ++step)
    for (int32_t rank = 0; rank < 4; ++rank) e.steps.append(kNoName, rank, step, kNoTime, 10);
  tell_contradictions(e);
  EXPECT_EQ(health_count(e, "rank_outside_world"), 2U);
}

TEST(Contradictions, TwoValuesOfOneProcessAtOneTimeAreToldOthersAreNot) {
  const auto told = [](const Setting& a, const Setting& b) {
    Evidence e;
    e.settings = {a, b};
    tell_contradictions(e);
    return health_count(e, "settings_disagree");
  };
  const Setting four{"rank/0", "loader.num_workers", "4", "a.jsonl", kNoTime};
  Setting other = four;
  EXPECT_EQ(told(four, other), 0U);
  other.value = "8";
  EXPECT_EQ(told(four, other), 1U);
  other.time = 5;
  EXPECT_EQ(told(four, other), 0U);
  other = {"rank/1", "loader.num_workers", "8", "a.jsonl", kNoTime};
  EXPECT_EQ(told(four, other), 0U);
}

}  // namespace
}  // namespace firstwait
