#include "base/numbers.h"

#include <gtest/gtest.h>

#include <limits>

namespace firstwait {
namespace {

TEST(Numbers, ThreeSignificantDigits) {
  EXPECT_EQ(three_digits(0.5764), "0.576");
  EXPECT_EQ(three_digits(4.8), "4.80");
  EXPECT_EQ(three_digits(38.04), "38.0");
  EXPECT_EQ(three_digits(1755.2), "1,755");
  EXPECT_EQ(three_digits(std::numeric_limits<double>::quiet_NaN()), "–");
}

TEST(Numbers, Units) {
  EXPECT_EQ(seconds(0.5764), "0.576 s");
  EXPECT_EQ(seconds(0.038), "38.0 ms");
  EXPECT_EQ(seconds(2460), "41 min");
  EXPECT_EQ(seconds(9960), "2 h 46 min");
  EXPECT_EQ(bytes_per_second(498e6), "498 MB/s");
  EXPECT_EQ(percent(0.204), "20 %");
  EXPECT_EQ(percent(0.0000001), "0.00 %");
  EXPECT_EQ(times(4.8), "4.80×");
  EXPECT_EQ(with_thousands(-61240), "-61,240");
}

TEST(Numbers, Times) {
  EXPECT_EQ(utc_date_time(1763464597'000000000), "18 Nov 2025, 11:16:37 UTC");
  EXPECT_EQ(utc_time(1763464597'999999999), "11:16:37 UTC");
}

}  // namespace
}  // namespace firstwait
