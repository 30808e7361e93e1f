#include "base/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace firstwait {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

TEST(Numbers, ThreeSignificantDigitsAndThousands) {
  EXPECT_EQ(with_thousands(61240), "61,240");
  EXPECT_EQ(with_thousands(-1234567), "-1,234,567");
  EXPECT_EQ(with_thousands(INT64_MIN), "-9,223,372,036,854,775,808");
  EXPECT_EQ(three_digits(0.57649), "0.576");
  EXPECT_EQ(three_digits(4.8), "4.8");
  EXPECT_EQ(three_digits(38), "38");
  EXPECT_EQ(three_digits(61240), "61,240");
  EXPECT_EQ(three_digits(61240.5), "61,200");
  EXPECT_EQ(three_digits(999.7), "1,000");
  EXPECT_EQ(three_digits(0), "0");
  EXPECT_EQ(three_digits(1e300), "1e+300");
}

TEST(Numbers, AbsentIsADashNeverZero) {
  EXPECT_EQ(three_digits(kUnknown), "–");
  EXPECT_EQ(seconds(kUnknown), "–");
  EXPECT_EQ(percent(kUnknown), "–");
  EXPECT_EQ(times(kUnknown), "–");
  EXPECT_EQ(change_text({}, {}, "s"), "–");
  EXPECT_EQ(bytes_per_second(INFINITY), "–");
}

TEST(Numbers, UnitsPeopleKnow) {
  EXPECT_EQ(seconds(0.576), "0.576 s");
  EXPECT_EQ(seconds(0.12), "0.120 s");
  EXPECT_EQ(seconds(0.038), "38 ms");
  EXPECT_EQ(seconds(0.0029), "2.9 ms");
  EXPECT_EQ(seconds(12.5e-6), "12.5 µs");
  EXPECT_EQ(seconds(2.214), "2.21 s");
  EXPECT_EQ(seconds(137.26), "137 s");
  EXPECT_EQ(seconds(2460), "41 min");
  EXPECT_EQ(seconds(9960), "2 h 46 min");
  EXPECT_EQ(seconds(400000), "4 d 15 h");
  EXPECT_EQ(bytes_per_second(498e6), "498 MB/s");
  EXPECT_EQ(bytes(854e9), "854 GB");
  EXPECT_EQ(quantity_text(0.458, "s/step"), "0.458 s/step");
  EXPECT_EQ(quantity_text(1755, "MHz"), "1,755 MHz");
  EXPECT_EQ(quantity_text(3, "count"), "3");
}

TEST(Numbers, PercentKeepsOneDecimalAboveOne) {
  EXPECT_EQ(percent(0.204), "20.4 %");
  EXPECT_EQ(percent(0.2), "20 %");
  EXPECT_EQ(percent(0.996), "99.6 %");
  EXPECT_EQ(percent(1), "100 %");
  EXPECT_EQ(percent(0.000393), "0.04 %");
  EXPECT_EQ(percent(0), "0 %");
  EXPECT_EQ(percent(0.0000001), "0.00 %");
}

TEST(Numbers, MultiplesReadAlikeEverywhere) {
  EXPECT_EQ(times(4.8), "4.8×");
  EXPECT_EQ(times(1.0), "1.0×");
  EXPECT_EQ(times(1.658), "1.66×");
  EXPECT_EQ(quantity_text(2.4, "ratio"), "2.4×");
  EXPECT_EQ(quantity_text(0.996, "ratio"), "99.6 %");
}

TEST(Numbers, AChangeIsInOneUnit) {
  EXPECT_EQ(change_text(14e6, 498e6, "bytes/s"), "14 → 498 MB/s");
  EXPECT_EQ(change_text(0.002, 0.458, "s"), "0.002 → 0.458 s");
  EXPECT_EQ(change_text(0.95, 0.20, "ratio"), "95 → 20 %");
  EXPECT_EQ(change_text(1.0, 1.54, "ratio"), "1.0 → 1.54×");
  EXPECT_EQ(change_text({}, 0.2, "ratio"), "20 %");
  EXPECT_EQ(change_text(0.2, {}, "ratio"), "was 20 %");
}

TEST(Numbers, TimesAreUtc) {
  EXPECT_EQ(utc_date_time(1763464597'000000000), "18 Nov 2025, 11:16:37 UTC");
  EXPECT_EQ(utc_time(1763464597'999999999), "11:16:37 UTC");
  EXPECT_EQ(utc_date_time(-1), "31 Dec 1969, 23:59:59 UTC");
  EXPECT_EQ(utc_date_time(951'782'400'000'000'000), "29 Feb 2000, 00:00:00 UTC");
  EXPECT_EQ(utc_date_time(INT64_MIN), "");
  EXPECT_EQ(utc_date(INT64_MAX), "11 Apr 2262");
}

}  // namespace
}  // namespace firstwait
