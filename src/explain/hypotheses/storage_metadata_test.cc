#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_storage_metadata;
namespace {

Verdict test(const std::string& text) { return test_case(hypothesis_storage_metadata, text); }

TEST(StorageMetadata, LookupsTakeMostOfTheTime) {
  const auto v = test(
      "pattern chronic\n"
      "phase input_wait 0.40\n"
      "phase backward 0.10\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a "
      "100\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 0.1\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 1e6\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=LOOKUP} host/a "
      "900\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=LOOKUP} "
      "host/a 2\n");
  EXPECT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
}

TEST(StorageMetadata, ReadsTakeMostOfTheTime) {
  const auto v = test(
      "pattern chronic\n"
      "phase input_wait 0.40\n"
      "phase backward 0.10\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a "
      "100\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 9.89\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 1e6\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=LOOKUP} host/a "
      "9\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=LOOKUP} "
      "host/a 0.11\n");
  ASSERT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
  EXPECT_EQ(v.reason, "metadata is 1.1 % of RPC time");
}

TEST(StorageMetadata, WithoutOperationTimes) {
  const auto v = test(
      "pattern chronic\n"
      "phase input_wait 0.40\n"
      "phase backward 0.10\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
