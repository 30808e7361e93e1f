#include "base/text.h"

#include <gtest/gtest.h>

namespace firstwait {
namespace {

TEST(ParseTime, KeepsNanosecondsThatADoubleWouldLose) {
  EXPECT_EQ(parse_time_ns("1764500000.123456789"), 1764500000123456789);
  EXPECT_EQ(parse_time_ns("1764500000.1234567891"), 1764500000123456789);
}

TEST(ParseTime, TakesIntegersAboveTenToTheFifteenAsNanoseconds) {
  EXPECT_EQ(parse_time_ns("1764500000123456789"), 1764500000123456789);
  EXPECT_EQ(parse_time_ns("1764500000"), 1764500000000000000);
  EXPECT_EQ(parse_time_ns("0.5"), 500000000);
  EXPECT_EQ(parse_time_ns("-0.5"), -500000000);
  EXPECT_EQ(parse_time_ns("1.5e3"), 1500000000000);
}

TEST(ParseTime, RefusesWhatIsNoNumberOrTooLarge) {
  for (const char* bad :
       {"", "x", "1.2.3", "nan", "1e40", "99999999999999999999999999", "--1", "."})
    EXPECT_FALSE(parse_time_ns(bad)) << bad;
}

TEST(ParseTime, RefusesWhatWouldOverflowOnlyInTheUnit) {
  EXPECT_FALSE(parse_time_ns("179999999999999999999964500000.5"));
}

TEST(ParseScaled, IsExactInMicroseconds) {
  EXPECT_EQ(parse_scaled_ns("4203669603187.439", 1000), 4203669603187439);
  EXPECT_EQ(parse_scaled_ns("1712195495537248.2", 1000), 1712195495537248200);
}

TEST(Iso8601, ReadsZonesAndFractions) {
  EXPECT_EQ(parse_iso8601_ns("1970-01-01T00:00:01"), 1000000000);
  EXPECT_EQ(parse_iso8601_ns("2024-08-18T18:29:41.452675"), 1724005781452675000);
  EXPECT_EQ(parse_iso8601_ns("2024-08-18 20:29:41.452675+02:00"), 1724005781452675000);
  EXPECT_FALSE(parse_iso8601_ns("2024-02-30T00:00:00"));
  EXPECT_FALSE(parse_iso8601_ns("yesterday"));
}

TEST(Split, KeepsEmptyPiecesButSplitBlankDoesNot) {
  EXPECT_EQ(split("a,,b", ',').size(), 3u);
  EXPECT_EQ(split_blank("  a \t b ").size(), 2u);
}

}  // namespace
}  // namespace firstwait
