#include "import/import_testing.h"

namespace firstwait {
extern const Importer importer_settings;
namespace {

TEST(Settings, ValuesOfAnyTypeAreKeptAsText) {
  const Evidence e = import_text(
      importer_settings,
      R"({"entity":"host/node01","key":"cpu.affinity","value":"0-3","source":"/proc/7/status"}
{"entity":"job/a","key":"loader.num_workers","value":12,"time":1764500000.5}
{"entity":"job/a","key":"loader.pin_memory","value":true})",
      7);
  ASSERT_EQ(e.settings.size(), 3U);
  EXPECT_EQ(e.settings[0].value, "0-3");
  EXPECT_EQ(e.settings[0].source, "/proc/7/status");
  EXPECT_EQ(e.settings[0].time, kNoTime);
  EXPECT_EQ(e.settings[1].value, "12");
  EXPECT_EQ(e.settings[1].source, "test-input");
  EXPECT_EQ(e.settings[1].time, 1764500000500000000);
  EXPECT_EQ(e.settings[2].value, "true");
}

TEST(Settings, IncompleteRowsAreCounted) {
  const Evidence e = import_text(importer_settings, R"({"entity":"host/a","key":"x"}
{"entity":"host/a","key":"x","value":null}
{"entity":)");
  EXPECT_TRUE(e.settings.empty());
  EXPECT_EQ(health_count(e, "incomplete_setting"), 2U);
  EXPECT_EQ(health_count(e, "bad_line"), 1U);
}

TEST(Settings, AWordThatOnlyBeginsLikeNullIsABrokenLine) {
  const Evidence e =
      import_text(importer_settings, "{\"entity\":\"host/a\",\"key\":\"x\",\"value\":na\"m\"i}\n");
  EXPECT_TRUE(e.settings.empty());
  EXPECT_EQ(health_count(e, "bad_line"), 1U);
}

}  // namespace
}  // namespace firstwait
