#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "explain/gpu_facts.h"
#include "explain/testing/view_builder.h"

namespace firstwait {
extern const Hypothesis hypothesis_gpu_hardware_errors;
namespace {

Verdict test(const ViewBuilder& b) { return hypothesis_gpu_hardware_errors.test(b.view()); }

TEST(GpuHardwareErrors, Xid119InTheKernelLogIsAFactWithoutAnEffect) {
  ViewBuilder b(false);
  b.event("xid", "gpu/node:4", 0, {{"code", "119"}});
  const auto v = test(b);
  ASSERT_EQ(v.outcome, Outcome::supported);
  EXPECT_GE(v.llr, 3);
  EXPECT_FALSE(v.effect);
  EXPECT_EQ(v.because,
            "GPU 4 of node reported Xid 119: the GPU's system processor (GSP) does not answer");
}

TEST(GpuHardwareErrors, AtTheOnsetOnTheSlowRankItIsVeryStrong) {
  ViewBuilder b;
  b.phase(Phase::forward, 0.2, 0.1).rank(0, "a").rank(1, "a").rank(2, "a");
  b.evidence().rank(1).gpu = "a:1";
  b.attribution().rank_stats.push_back({.rank = 1, .ratio_to_peers = 2.0});
  b.event("xid", "gpu/a:1", -5, {{"code", "64"}});
  EXPECT_GT(test(b).llr, kVeryStrong);
  EXPECT_EQ(test(b).where.front(), "rank/1");
}

TEST(GpuHardwareErrors, AnErrorOfTheProgramIsNotOfTheDevice) {
  ViewBuilder b;
  b.phase(Phase::forward, 0.2, 0.1).event("xid", "gpu/a:1", -5, {{"code", "31"}});
  const auto v = test(b);
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_NE(v.reason.find("Xid 31"), std::string::npos);
}

TEST(GpuHardwareErrors, AnErrorLongAfterTheOnsetDidNotCauseIt) {
  ViewBuilder early, late;
  early.phase(Phase::forward, 0.2, 0.1).event("xid", "gpu/a:1", -5, {{"code", "119"}});
  late.phase(Phase::forward, 0.2, 0.1).event("xid", "gpu/a:1", 500, {{"code", "119"}});
  EXPECT_LT(test(late).llr, test(early).llr - 2);
}

TEST(GpuHardwareErrors, AnXidOfAnotherHostOrAnotherTimeSaysNothingOfTheRun) {
  const auto with_run = [](double seconds_after_onset, std::string_view entity) {
    ViewBuilder b;
    b.phase(Phase::forward, 0.2, 0.1).rank(0, "a").rank(1, "a");
    auto& steps = b.attribution().steps;
    for (int32_t s = 0; s < 200; ++s) {
      steps.step.push_back(s);
      steps.start.push_back(ViewBuilder::kBefore + s * 6 * ViewBuilder::kSecond);
      steps.time.push_back(6 * ViewBuilder::kSecond);
      steps.segment.push_back(SegmentKind::steady);
    }
    b.event("xid", std::string(entity), seconds_after_onset, {{"code", "79"}});
    return test(b);
  };
  EXPECT_EQ(with_run(-5, "gpu/a:1").outcome, Outcome::supported);
  EXPECT_EQ(with_run(-900, "gpu/a:1").outcome, Outcome::supported);  // as the job started
  const auto month = with_run(-30 * 86400.0, "gpu/a:1");
  EXPECT_EQ(month.outcome, Outcome::refuted);
  EXPECT_NE(month.reason.find("before the run"), std::string::npos) << month.reason;
  EXPECT_EQ(with_run(365 * 86400.0, "gpu/a:1").outcome, Outcome::refuted);
  const auto elsewhere = with_run(-5, "gpu/zz:1");
  EXPECT_EQ(elsewhere.outcome, Outcome::refuted);
  EXPECT_NE(elsewhere.reason.find("zz, where no rank"), std::string::npos) << elsewhere.reason;
}

TEST(GpuHardwareErrors, TheGaugesOldCodeExplainsNoChange) {
  ViewBuilder b;
  b.phase(Phase::forward, 0.2, 0.1).gauge("DCGM_FI_DEV_XID_ERRORS", "gpu/a:1", 79, 79);
  EXPECT_LE(test(b).llr, kWeak);
}

TEST(GpuHardwareErrors, ErrorsOlderThanTheRecordAreNotItsCause) {
  ViewBuilder b;
  b.phase(Phase::forward, 0.2, 0.1).gauge("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "gpu/a:1", 3, 3);
  const auto v = test(b);
  EXPECT_EQ(v.outcome, Outcome::refuted);
  EXPECT_NE(v.reason.find("older than this record"), std::string::npos) << v.reason;
  ViewBuilder now;
  now.phase(Phase::forward, 0.2, 0.1).gauge("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "gpu/a:1", 3, 4);
  EXPECT_EQ(test(now).outcome, Outcome::supported);
}

TEST(GpuHardwareErrors, NoErrorCountedIsRefuted) {
  ViewBuilder b;
  b.phase(Phase::forward, 0.2, 0.1).gauge("DCGM_FI_DEV_XID_ERRORS", "gpu/a:1", 0, 0);
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(GpuHardwareErrors, CorrectableErrorsAreNoFault) {
  ViewBuilder b;
  b.phase(Phase::forward, 0.2, 0.1);
  b.gauge("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "gpu/a:1", 5, 90)
      .gauge("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "gpu/a:1", 0, 0);
  EXPECT_EQ(test(b).outcome, Outcome::refuted);
}

TEST(GpuHardwareErrors, AGpuKnownByItsPciAddressHasTheRightHost) {
  ViewBuilder b(false);
  b.event("xid", "gpu/node:0000:9b:00", 0, {{"code", "119"}});
  EXPECT_THAT(test(b).where, testing::ElementsAre("gpu/node:0000:9b:00", "host/node"));
  EXPECT_TRUE(test(b).because.starts_with("GPU 0000:9b:00 of node"));
}

TEST(GpuHardwareErrors, AFailedRemapInASnapshotIsAFault) {
  ViewBuilder b(false);
  b.setting("gpu/a:1", "gpu.remapped_rows_failure", "Yes");
  b.setting("gpu/a:0", "gpu.remapped_rows_failure", "No");
  ASSERT_EQ(test(b).outcome, Outcome::supported);
  EXPECT_EQ(test(b).where.front(), "gpu/a:1");
}

TEST(GpuHardwareErrors, RowsAndPagesThatWaitForAResetAreAFault) {
  for (const char* key : {"gpu.remapped_rows_pending", "gpu.retired_pages_pending"}) {
    ViewBuilder b(false);
    b.setting("gpu/a:1", key, "Yes").setting("gpu/a:0", key, "No");
    b.gauge("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "gpu/a:1", 0, 0);
    ASSERT_EQ(test(b).outcome, Outcome::supported) << key;
    EXPECT_EQ(test(b).where.front(), "gpu/a:1");
  }
  ViewBuilder b(false);
  b.gauge("DCGM_FI_DEV_ROW_REMAP_PENDING", "gpu/a:1", 1, 1);
  b.gauge("DCGM_FI_DEV_ROW_REMAP_PENDING", "gpu/a:2", 0, 0);
  ASSERT_EQ(test(b).outcome, Outcome::supported);
  EXPECT_EQ(test(b).where.front(), "gpu/a:1");
}

TEST(GpuHardwareErrors, NotWatchedIsUntested) {
  ViewBuilder b;
  EXPECT_EQ(test(b.phase(Phase::forward, 0.2, 0.1)).outcome, Outcome::untested);
}

TEST(GpuHardwareErrors, HostileCodesAreHarmless) {
  ViewBuilder b;
  b.event("xid", "gpu/a:1", 0, {{"code", "99999999999999999999"}}).event("xid", "", 0, {});
  b.gauge("DCGM_FI_DEV_XID_ERRORS", "gpu/a:1", 1e300, 1e300);
  EXPECT_NE(test(b).outcome, Outcome::supported);
}

}  // namespace
}  // namespace firstwait
