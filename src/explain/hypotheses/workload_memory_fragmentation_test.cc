#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_workload_memory_fragmentation;
namespace {

Verdict test(const std::string& text) {
  return test_case(hypothesis_workload_memory_fragmentation, text);
}

TEST(WorkloadMemoryFragmentation, RetriesThatBeganWithTheSlowdown) {
  const auto v = test(
      "phase backward 0.1 -> 0.3\n"
      "counter firstwait_cuda_alloc_retries_total gpu/a:0 0 -> 5\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
}

TEST(WorkloadMemoryFragmentation, NoRetries) {
  const auto v = test(
      "phase backward 0.1 -> 0.3\n"
      "counter firstwait_cuda_alloc_retries_total gpu/a:0 0 -> 0\n");
  ASSERT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
  EXPECT_EQ(v.reason, "0 allocator retries a second");
}

TEST(WorkloadMemoryFragmentation, AsManyBefore) {
  const auto v = test(
      "phase backward 0.1 -> 0.3\n"
      "counter firstwait_cuda_alloc_retries_total gpu/a:0 5 -> 5\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_LE(v.llr, 2);
}

TEST(WorkloadMemoryFragmentation, NotCounted) {
  const auto v = test("phase backward 0.1 -> 0.3\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
