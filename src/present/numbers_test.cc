#include "present/numbers.h"

#include <gtest/gtest.h>

namespace firstwait {
namespace {

TEST(Numbers, ThreeSignificantDigitsAndThousands) {
  EXPECT_EQ(integer_text(61240), "61,240");
  EXPECT_EQ(integer_text(-1234567), "-1,234,567");
  EXPECT_EQ(integer_text(INT64_MIN), "-9,223,372,036,854,775,808");
  EXPECT_EQ(number_text(0.57649), "0.576");
  EXPECT_EQ(number_text(38), "38");
  EXPECT_EQ(number_text(61240), "61,240");
  EXPECT_EQ(number_text(61240.5), "61,200");
  EXPECT_EQ(number_text(999.7), "1,000");
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(1e300), "1e+300");
}

TEST(Numbers, AbsentIsADashNeverZero) {
  EXPECT_EQ(number_text(kNaN), "–");
  EXPECT_EQ(seconds_text(kNaN), "–");
  EXPECT_EQ(percent_text(kNaN), "–");
  EXPECT_EQ(ratio_text(kNaN), "–");
  EXPECT_EQ(ratio_text(Interval{}), "–");
  EXPECT_EQ(change_text({}, {}, "s"), "–");
  EXPECT_EQ(quantity_text(INFINITY, "bytes/s"), "–");
}

TEST(Numbers, UnitsPeopleKnow) {
  EXPECT_EQ(seconds_text(0.576), "0.576 s");
  EXPECT_EQ(seconds_text(0.12), "0.120 s");
  EXPECT_EQ(seconds_text(0.038), "38 ms");
  EXPECT_EQ(seconds_text(0.0029), "2.9 ms");
  EXPECT_EQ(seconds_text(12.5e-6), "12.5 µs");
  EXPECT_EQ(seconds_text(137.26), "137 s");
  EXPECT_EQ(quantity_text(498e6, "bytes/s"), "498 MB/s");
  EXPECT_EQ(quantity_text(854e9, "bytes"), "854 GB");
  EXPECT_EQ(quantity_text(0.996, "ratio"), "99.6 %");
  EXPECT_EQ(quantity_text(0.458, "s/step"), "0.458 s/step");
  EXPECT_EQ(quantity_text(1755, "MHz"), "1,755 MHz");
  EXPECT_EQ(quantity_text(3, "count"), "3");
}

TEST(Numbers, AChangeIsInOneUnit) {
  EXPECT_EQ(change_text(14e6, 498e6, "bytes/s"), "14 → 498 MB/s");
  EXPECT_EQ(change_text(0.002, 0.458, "s"), "0.002 → 0.458 s");
  EXPECT_EQ(change_text(0.95, 0.20, "ratio"), "95 → 20 %");
  EXPECT_EQ(change_text({}, 0.2, "ratio"), "20 %");
  EXPECT_EQ(change_text(0.2, {}, "ratio"), "was 20 %");
}

TEST(Numbers, RatiosAndIntervals) {
  EXPECT_EQ(ratio_text(4.8), "4.8×");
  EXPECT_EQ(ratio_text(1.0), "1.0×");
  EXPECT_EQ(ratio_text(1.658), "1.66×");
  EXPECT_EQ(ratio_text(Interval{1.9, 2.1}), "1.9–2.1×");
  EXPECT_EQ(ratio_text(Interval{kNaN, 1.66}), "at most 1.66×");
  EXPECT_EQ(ratio_text(Interval{2, kNaN}), "at least 2.0×");
  EXPECT_EQ(ratio_text(Interval{1, 1}), "1.0×");
}

TEST(Numbers, ConfidenceNeverReachesAHundred) {
  EXPECT_EQ(confidence_text(0.94), "94 %");
  EXPECT_EQ(confidence_text(0.7), "70 %");
  EXPECT_EQ(confidence_text(1.0), "99 %");
  EXPECT_EQ(confidence_text(0.999), "99 %");
  EXPECT_EQ(confidence_word(0.9), "very likely");
  EXPECT_EQ(confidence_word(0.7), "likely");
  EXPECT_EQ(confidence_word(0.5), "possible");
  EXPECT_EQ(confidence_word(0.49), "undetermined");
}

TEST(Numbers, TimesAreUtc) {
  EXPECT_EQ(utc_text(1'794'914'197'000'000'000), "17 Nov 2026, 11:16:37 UTC");
  EXPECT_EQ(utc_text(-1), "31 Dec 1969, 23:59:59 UTC");
  EXPECT_EQ(utc_text(951'782'400'000'000'000), "29 Feb 2000, 00:00:00 UTC");
  EXPECT_EQ(utc_text(kNoTime), "");
  EXPECT_EQ(utc_date(INT64_MAX), "11 Apr 2262");
  EXPECT_EQ(long_time_text(2 * 3600 + 46 * 60), "2 h 46 min");
  EXPECT_EQ(long_time_text(41 * 60), "41 min");
  EXPECT_EQ(long_time_text(1.2), "1.2 s");
  EXPECT_EQ(long_time_text(400000), "4 d 15 h");
}

TEST(Numbers, AColumnKeepsOneUnitAndItsDecimals) {
  const auto half = seconds_column(0.576, false);
  EXPECT_EQ(half.text(0.002), "0.002");
  EXPECT_EQ(half.change(0.120, 0.576), "+0.456");
  EXPECT_EQ(half.change(0.0620, 0.0621), "·");
  EXPECT_EQ(half.change(0.5, 0.4), "-0.100");
  EXPECT_EQ(half.text(kNaN), "–");
  const auto milli = seconds_column(0.004, false);
  EXPECT_EQ(milli.with_unit(0.004), "4.000 ms");
  EXPECT_EQ(seconds_column(137, false).text(59.5), "59.5");
  EXPECT_EQ(seconds_column(476, true).with_unit(476), "476.0");
  EXPECT_EQ(seconds_column(kNaN, false).text(1), "1.000");
}

TEST(Numbers, ListsAreCutWithTheirRemainder) {
  EXPECT_EQ(list_text({"5"}, 3), "5");
  EXPECT_EQ(list_text({"5", "9"}, 3), "5 and 9");
  EXPECT_EQ(list_text({"1", "2", "3"}, 3), "1, 2 and 3");
  EXPECT_EQ(list_text({"1", "2", "3", "4", "5"}, 3), "1, 2, 3 and 2 more");
  EXPECT_EQ(list_text({}, 3), "");
}

}  // namespace
}  // namespace firstwait
