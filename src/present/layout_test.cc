#include "present/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "present/utf8.h"

namespace firstwait {
namespace {

using ::testing::ElementsAre;

TEST(Layout, WidthCountsColumnsNotBytes) {
  EXPECT_EQ(display_width("4.8×"), 4U);
  EXPECT_EQ(display_width("計算"), 4U);
  EXPECT_EQ(display_width("e\xCC\x81"), 1U);
  EXPECT_EQ(display_width("\xff\xfe"), 2U);
}

TEST(Layout, WrapsAtBlanksAndBreaksLongWords) {
  EXPECT_THAT(wrap("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrap("abcdefgh ij", 4), ElementsAre("abcd", "efgh", "ij"));
  EXPECT_THAT(wrap("計算計算", 4), ElementsAre("計算", "計算"));
  EXPECT_THAT(wrap("", 10), ElementsAre(""));
  EXPECT_THAT(wrap("  a   b ", 10), ElementsAre("a b"));
  EXPECT_THAT(wrap("計", 0), ElementsAre("計"));
}

TEST(Layout, ClipsWithAMark) {
  EXPECT_EQ(clip("abcdef", 4), "abc…");
  EXPECT_EQ(clip("abcd", 4), "abcd");
  EXPECT_EQ(clip("計算機", 4), "計…");
  EXPECT_EQ(pad_left("×", 3), "  ×");
  EXPECT_EQ(pad_right("×", 3), "×  ");
}

TEST(Layout, BarsHaveEighthsAndNeverHideAValue) {
  EXPECT_EQ(bar(1, 4, true), "████");
  EXPECT_EQ(bar(0.5, 4, true), "██");
  EXPECT_EQ(bar(1.0 / 16, 4, true), "▎");
  EXPECT_EQ(bar(1e-9, 4, true), "▏");
  EXPECT_EQ(bar(0, 4, true), "");
  EXPECT_EQ(bar(kReplacement, 4, true), "████");
  EXPECT_EQ(bar(0.01, 4, false), "#");
}

TEST(Utf8, IllFormedBytesBecomeReplacements) {
  EXPECT_EQ(valid_utf8("a\xffz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(valid_utf8("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80").substr(0, 3), "\xEF\xBF\xBD");
  EXPECT_EQ(valid_utf8("\xE2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(valid_utf8("計\xF0\x9F\x99\x82"), "計\xF0\x9F\x99\x82");
}

TEST(Utf8, CleanTextCannotSteerATerminal) {
  EXPECT_EQ(clean_text("a\tb\nc"), "a b c");
  EXPECT_EQ(clean_text("\x1b[31m"), "\xEF\xBF\xBD[31m");
  EXPECT_EQ(clean_text("\xC2\x9B"), "\xEF\xBF\xBD");
  EXPECT_EQ(clean_text("\xE2\x80\xAE"), "\xEF\xBF\xBD");
  EXPECT_EQ(fold_ascii("1 → 2×, ≈ ü"), "1 -> 2x, ~ ?");
}

}  // namespace
}  // namespace firstwait
