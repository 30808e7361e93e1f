#include "import/import_testing.h"

namespace firstwait {
extern const Importer importer_events;
namespace {

TEST(Events, KindTimesAndAttributesArriveExactly) {
  const Evidence e = import_text(
      importer_events,
      R"({"kind":"checkpoint","entity":"job/resnet-17","start":1764500000.123456789,"end":1764500004,"attributes":{"status":"ok","bytes":1048576,"paths":["a"]}}
{"kind":"xid","start":"2025-11-30T10:53:20Z"})",
      5);
  ASSERT_EQ(e.events.size(), 2U);
  EXPECT_EQ(e.events[0].kind, "checkpoint");
  EXPECT_EQ(e.events[0].entity, "job/resnet-17");
  EXPECT_EQ(e.events[0].start, 1764500000123456789);
  EXPECT_EQ(e.events[0].end, 1764500004000000000);
  EXPECT_EQ(e.events[0].attribute("status"), "ok");
  EXPECT_EQ(e.events[0].attribute("bytes"), "1048576");
  EXPECT_EQ(e.events[0].attribute("paths"), "[\"a\"]");
  EXPECT_EQ(e.events[1].start, 1764500000000000000);
  EXPECT_EQ(e.events[1].end, kNoTime);
}

TEST(Events, WhatIsNoEventIsCounted) {
  const Evidence e = import_text(importer_events, R"({"kind":"checkpoint"}
{"start":5}
{"kind":"x","start":1e99}
{"kind":"x","start":5)");
  EXPECT_TRUE(e.events.empty());
  EXPECT_EQ(health_count(e, "incomplete_event"), 3U);
  EXPECT_EQ(health_count(e, "bad_line"), 1U);
}

}  // namespace
}  // namespace firstwait
