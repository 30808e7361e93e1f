#include "present/numbers.h"

#include <gtest/gtest.h>

namespace firstwait {
namespace {

TEST(ReportNumbers, AnIntervalSaysWhatIsNotKnown) {
  EXPECT_EQ(times(Interval{}), "–");
  EXPECT_EQ(times(Interval{1.9, 2.1}), "1.9–2.1×");
  EXPECT_EQ(times(Interval{kNaN, 1.66}), "at most 1.66×");
  EXPECT_EQ(times(Interval{2, kNaN}), "at least 2.0×");
  EXPECT_EQ(times(Interval{1, 1}), "1.0×");
}

TEST(ReportNumbers, ConfidenceNeverReachesAHundred) {
  EXPECT_EQ(confidence_text(0.94), "94 %");
  EXPECT_EQ(confidence_text(0.7), "70 %");
  EXPECT_EQ(confidence_text(1.0), "99 %");
  EXPECT_EQ(confidence_text(0.999), "99 %");
}

TEST(ReportNumbers, AColumnKeepsOneUnitAndItsDecimals) {
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

TEST(ReportNumbers, ListsAreCutWithTheirRemainder) {
  EXPECT_EQ(list_text({"5"}, 3), "5");
  EXPECT_EQ(list_text({"5", "9"}, 3), "5 and 9");
  EXPECT_EQ(list_text({"1", "2", "3"}, 3), "1, 2 and 3");
  EXPECT_EQ(list_text({"1", "2", "3", "4", "5"}, 3), "1, 2, 3 and 2 more");
  EXPECT_EQ(list_text({}, 3), "");
}

}  // namespace
}  // namespace firstwait
