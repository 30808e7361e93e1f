#include <gtest/gtest.h>

#include "explain/testing/case_file.h"

namespace firstwait {
extern const Hypothesis hypothesis_storage_client_degraded;
namespace {

Verdict test(const std::string& text) {
  return test_case(hypothesis_storage_client_degraded, text);
}

TEST(StorageClientDegraded, OneOfThreeClients) {
  const auto v = test(
      "pattern chronic\n"
      "phase input_wait 0.40\n"
      "phase backward 0.10\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a "
      "100\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 0.3\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 1e8\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/b "
      "100\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/b 0.3\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/b 1e8\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/c "
      "100\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/c 4\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/c 1e8\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_EQ(v.where.front(), "host/c");
}

TEST(StorageClientDegraded, AllAlikeIsTheServer) {
  const auto v = test(
      "pattern chronic\n"
      "phase input_wait 0.40\n"
      "phase backward 0.10\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a "
      "100\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 4\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 1e8\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/b "
      "100\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/b 4.1\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/b 1e8\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/c "
      "100\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/c 4\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/c 1e8\n");
  EXPECT_EQ(v.outcome, Outcome::refuted) << v.reason << v.because;
}

TEST(StorageClientDegraded, TwoClientsOnlyAreWeaker) {
  const auto v = test(
      "pattern chronic\n"
      "phase input_wait 0.40\n"
      "phase backward 0.10\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a "
      "100\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 0.3\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 1e8\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/c "
      "100\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/c 4\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/c 1e8\n");
  ASSERT_EQ(v.outcome, Outcome::supported) << v.reason << v.because;
  EXPECT_LE(v.llr, 2);
}

TEST(StorageClientDegraded, OneClient) {
  const auto v = test(
      "pattern chronic\n"
      "phase input_wait 0.40\n"
      "phase backward 0.10\n"
      "counter node_mountstats_nfs_operations_requests_total{export=n:/e,operation=READ} host/a "
      "100\n"
      "counter "
      "node_mountstats_nfs_operations_request_time_seconds_total{export=n:/e,operation=READ} "
      "host/a 4\n"
      "counter node_mountstats_nfs_read_bytes_total{export=n:/e} host/a 1e8\n");
  EXPECT_EQ(v.outcome, Outcome::untested) << v.reason << v.because;
}

}  // namespace
}  // namespace firstwait
