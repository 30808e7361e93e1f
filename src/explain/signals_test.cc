#include "explain/signals.h"

#include <gtest/gtest.h>

#include "explain/testing/view_builder.h"

namespace firstwait {
namespace {

TEST(Signals, CounterBecomesRateBeforeAndNow) {
  ViewBuilder b;
  b.counter("node_disk_read_bytes_total", "host/a", 5, 50);
  const auto r = rate(b.view(), "node_disk_read_bytes_total");
  ASSERT_EQ(r.size(), 1u);
  EXPECT_NEAR(r[0].before, 5, 0.5);
  EXPECT_NEAR(r[0].now, 50, 1e-9);
}

TEST(Signals, CounterResetIsNotANegativeRate) {
  ViewBuilder b;
  b.counter("c", "host/a", 1, 1);
  auto& values = b.evidence().series[0].value;
  const double at_reset = values[values.size() / 2];
  for (size_t i = values.size() / 2; i < values.size(); ++i) values[i] -= at_reset;
  EXPECT_NEAR(rate(b.view(), "c")[0].now, 1, 0.1);
}

TEST(Signals, FiltersByLabelAndSumsByEntity) {
  ViewBuilder b;
  b.gauge("g", "host/a", 1, 2, {{"cpu", "0"}}).gauge("g", "host/a", 3, 4, {{"cpu", "1"}});
  EXPECT_EQ(gauge(b.view(), "g", {{"cpu", "1"}}).size(), 1u);
  const auto sums = sum_by_entity(gauge(b.view(), "g"));
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_DOUBLE_EQ(sums[0].now, 6);
  EXPECT_DOUBLE_EQ(mean_by_entity(gauge(b.view(), "g"))[0].before, 2);
}

TEST(Signals, SharesOfSamplesWithABitSet) {
  ViewBuilder b;
  b.gauge("r", "gpu/a:0", 0x1, 0x40 | 0x8);
  const auto r = share_with_bits(b.view(), "r", 0x60);
  ASSERT_EQ(r.size(), 1u);
  EXPECT_DOUBLE_EQ(r[0].before, 0);
  EXPECT_DOUBLE_EQ(r[0].now, 1);
}

TEST(Signals, CounterTellsHowMuchItGrewInTheWindow) {
  ViewBuilder b;
  b.counter("c", "host/a", 1, 2);
  EXPECT_NEAR(rate(b.view(), "c")[0].now_count, 1200, 1e-9);
}

TEST(Signals, MissingMetricGivesNothing) {
  ViewBuilder b;
  EXPECT_TRUE(gauge(b.view(), "absent").empty());
  EXPECT_FALSE(has_metric(b.view(), "absent"));
}

TEST(Signals, ReadsCpuLists) {
  EXPECT_EQ(cpu_list_size("0-3,8"), 5);
  EXPECT_EQ(cpu_list_size("7"), 1);
  EXPECT_FALSE(cpu_list_size("3-1"));
  EXPECT_FALSE(cpu_list_size("x"));
}

TEST(Signals, DisagreeingSettingsGiveNoSingleValue) {
  ViewBuilder b;
  b.setting("rank/0", "loader.num_workers", "4").setting("rank/1", "loader.num_workers", "8");
  EXPECT_FALSE(setting(b.view(), "loader.num_workers"));
  EXPECT_EQ(settings(b.view(), "loader.num_workers").size(), 2u);
}

}  // namespace
}  // namespace firstwait
