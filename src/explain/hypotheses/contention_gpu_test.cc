#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_contention_gpu;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_contention_gpu, text); }

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
