#include "base/testing/test_data.h"
#include "import/byte_source.h"
#include "import/import_testing.h"

namespace firstwait {
extern const Importer importer_dftracer;
namespace {

const std::string kTrace = R"([
 {"id":"0","name":"open","cat":"POSIX","pid":"11","tid":"22","ts":"1698080323775554","dur":"141","ph":"X","args":{"hostname":"node7","fname":"/data/set/a/1.npz","ret":18}}
{"id":"1","name":"read","cat":"POSIX","pid":"11","tid":"22","ts":1698080323775700,"dur":115,"ph":"X","args":{"hostname":"node7","ret":"131072","count":"131072","fname":"/data/set/a/1.npz","step":"4"}}
{"id":"2","name":"read","cat":"POSIX","pid":"11","tid":"22","ts":"1698080323775900","dur":"20","ph":"X","args":{"hostname":"node7","ret":-1,"fname":"/data/set/b/2.npz"}}
{"id":"3","name":"pread64","cat":"POSIX","pid":"11","tid":"22","ts":"1698080323775990","dur":"20","ph":"X","args":{"hhash":"h1","ret":10,"fhash":"f1"}}
{"id":"4","name":"HH","cat":"dftracer","pid":"11","tid":"22","ph":"M","args":{"name":"node7","value":"h1"}}
{"id":"5","name":"compute","cat":"dlio_benchmark","pid":"11","tid":"11","ts":"1698080323776000","dur":"7","ph":"X","args":{}}
{"id":"6","name":"read","cat":"POSIX","pid":"11","tid":"22","ts":"x","dur":"1","ph":"X","args":{}}
nonsense
]
)";

TEST(Dftracer, CallsBecomeSpansWithBytesHostAndStep) {
  for (const size_t piece : {0u, 1u, 50u}) {
    const Evidence e = import_text(importer_dftracer, kTrace, piece, "app-3-of-8.pfw");
    ASSERT_EQ(e.spans.size(), 5u);
    EXPECT_EQ(e.spans.start[0], 1698080323775554000);
    EXPECT_EQ(e.spans.duration[0], 141000);
    EXPECT_EQ(e.spans.bytes[0], -1);
    EXPECT_EQ(e.names[e.spans.op[1]], "read");
    EXPECT_EQ(e.spans.bytes[1], 131072);
    EXPECT_EQ(e.spans.step[1], 4);
    EXPECT_EQ(e.spans.bytes[2], -1) << "a failed read moved nothing";
    EXPECT_EQ(e.spans.bytes[3], 10);
    EXPECT_EQ(e.spans.lane[1], Lane::loader_worker);
    EXPECT_EQ(e.spans.lane[4], Lane::host_thread);
    EXPECT_EQ(e.spans.rank[0], 3);
    EXPECT_EQ(e.ranks.at(3).host, "node7");
    ASSERT_EQ(e.settings.size(), 1u);
    EXPECT_EQ(e.settings[0].key, "dataset.path");
    EXPECT_EQ(e.settings[0].value, "/data/set/a");
    EXPECT_EQ(health_count(e, "bad_line"), 1u);
    EXPECT_EQ(health_count(e, "bad_time"), 1u);
  }
}

TEST(Dftracer, SurvivesACutAtEveryByte) {
  for (size_t cut = 0; cut < kTrace.size(); ++cut)
    EXPECT_LE(import_text(importer_dftracer, std::string_view(kTrace).substr(0, cut), 0, "x", false)
                  .spans.size(),
              5u);
}

TEST(Dftracer, IsRecognised) {
  EXPECT_EQ(recognised_as(kTrace), "dftracer");
  EXPECT_EQ(
      importer_dftracer.sniff({"[{\"name\": \"a\", \"ph\": \"X\", \"cat\": \"x\"}]", "t.json"}), 0);
}

TEST(Dftracer, ReadsTheRecordedTrace) {
  const auto path = shared_data("io/dftracer/test.pfw.gz");
  if (!path) GTEST_SKIP() << "no shared data";
  std::string text;
  ASSERT_TRUE(read_bytes(*path, [&](std::string_view chunk) {
                text.append(chunk);
                return true;
              }).ok());
  const Evidence e = import_text(importer_dftracer, text, 4096);
  EXPECT_EQ(e.spans.size(), 1012u);
  EXPECT_EQ(recognised_as(text), "dftracer");
  int64_t bytes = 0;
  for (size_t i = 0; i < e.spans.size(); ++i)
    if (e.names[e.spans.op[i]] == "read") bytes += e.spans.bytes[i];
  EXPECT_EQ(bytes, 131072000);
  ASSERT_EQ(e.settings.size(), 1u);
  EXPECT_EQ(e.settings[0].value, "/p/lustre1/haridev/dlio_profiler_data");
}

}  // namespace
}  // namespace firstwait
