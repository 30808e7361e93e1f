#include <gtest/gtest.h>

#include "explain/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_contention_gpu;
namespace {

// One case in the words of tests/cases.
Verdict test(const std::string& text) {
  const auto cases = read_cases("case\n" + text, "");
  EXPECT_TRUE(cases.at(0).errors.empty());
  return hypothesis_contention_gpu.test(cases.at(0).evidence->view());
}

TEST(ContentionGpu, NeighbourOnTheSameGpu) {
  const auto v = test(
      "phase backward 0.1 -> 0.3\n"
      "rank 0 a\n"
      "event neighbour_start job/b -3 gpu=a:0\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
}

TEST(ContentionGpu, NeighbourThatNamesNoGpu) {
  const auto v = test(
      "phase backward 0.1 -> 0.3\n"
      "rank 0 a\n"
      "event neighbour_start job/b -3\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(ContentionGpu, NeighbourLongBefore) {
  const auto v = test(
      "phase backward 0.1 -> 0.3\n"
      "rank 0 a\n"
      "event neighbour_start job/b -400 gpu=a:0\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(ContentionGpu, WithoutNeighbours) {
  const auto v = test("phase backward 0.1 -> 0.3\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
