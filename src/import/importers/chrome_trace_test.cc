#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "base/testing/test_data.h"
#include "import/byte_source.h"
#include "import/import_testing.h"

namespace firstwait {
extern const Importer importer_chrome_trace;
namespace {

constexpr Ns kUs = 1000;

Evidence read(std::string_view text, size_t piece = 0, const std::string& path = "trace.json") {
  return import_text(importer_chrome_trace, text, piece, path);
}

// All rows as text, to compare two readings.
std::string rows(const Evidence& e) {
  std::string out;
  for (size_t i = 0; i < e.spans.size(); ++i)
    out += std::to_string(e.spans.rank[i]) + " " + std::to_string(e.spans.step[i]) + " " +
           std::to_string(e.spans.start[i]) + " " + std::to_string(e.spans.duration[i]) + " " +
           std::string(e.names[e.spans.op[i]]) + " " +
           std::to_string(static_cast<int>(e.spans.lane[i])) + " " +
           std::to_string(e.spans.thread[i]) + " " + std::to_string(e.spans.bytes[i]) + "\n";
  for (size_t i = 0; i < e.collectives.size(); ++i)
    out += std::string(e.names[e.collectives.op[i]]) + " " +
           std::string(e.names[e.collectives.group[i]]) + " " +
           std::to_string(e.collectives.step[i]) + " " + std::to_string(e.collectives.bytes[i]) +
           "\n";
  for (const auto& h : e.health.entries())
    out +=
        std::string(h.counter->name) + " " + std::to_string(h.count) + " " + h.first_place + "\n";
  for (const auto& s : e.settings) out += s.entity + " " + s.key + "=" + s.value + "\n";
  return out;
}

size_t find(const Evidence& e, std::string_view op) {
  for (size_t i = 0; i < e.spans.size(); ++i)
    if (e.names[e.spans.op[i]] == op) return i;
  return SIZE_MAX;
}

// One of everything, as Kineto writes it.
const std::string kTrace = R"trace({
  "schemaVersion": 1,
  "deviceProperties": [
    {"id": 0, "name": "NVIDIA A100", "numSms": 108}, {"id": 1, "name": "Other \"GPU\""}
  ],
  "traceEvents": [
  {
    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 11, "tid": 11,
    "ts": 1000.5, "dur": 900, "args": {"External id": 1, "Call stack": "a{b;c\"[d"}
  },
  { "ph": "X", "cat": "cpu_op", "name": "aten::conv2d", "pid": 11, "tid": 11, "ts": 1010, "dur": 20,
    "args": {"Input Dims": [[], [32, [1]], []]} },
  { "ph": "X", "cat": "cpu_op", "name": "aten::_convolution", "pid": 11, "tid": 11, "ts": 1012, "dur": 10 },
  { "ph": "s", "id": 5, "pid": 11, "tid": 11, "ts": 1013, "cat": "ac2g", "name": "ac2g" },
  { "args": {"correlation": 5, "device": 1, "bytes": 4096}, "dur": 3.25, "ts": 1020.125, "tid": 7, "pid": 1,
    "name": "Memcpy HtoD (Pageable -> Device)", "cat": "gpu_memcpy", "ph": "X" },
  { "ph": "X", "cat": "kernel", "name": "void f<{lambda()#1}>(float)", "pid": 1, "tid": 7, "ts": 1030, "dur": 5,
    "args": {"correlation": 5} },
  { "ph": "X", "cat": "kernel", "name": "void f<{lambda()#1}>(float)", "pid": 1, "tid": 7, "ts": 1040, "dur": 5,
    "args": {"correlation": 5} },
  { "ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 11, "tid": 11, "ts": 1050, "dur": 4,
    "args": {"External id": 99, "Process Group Name": "dp", "In msg nelems": 512, "dtype": "BFloat16", "Seq": 3} },
  { "ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)", "pid": 1,
    "tid": 20, "ts": 2000, "dur": 50, "args": {"External id": 99} },
  { "ph": "X", "cat": "kernel", "name": "ncclDevKernel_ReduceScatter_Sum_f32", "pid": 1, "tid": 20, "ts": 1600,
    "dur": 50, "args": {"Collective name": "_reduce_scatter_base", "In msg nelems": 100, "Out msg nelems": 25,
    "dtype": "Float", "Process Group Name": "tp", "External id": 18446744073709551615} },
  { "ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#7", "pid": 1, "tid": 7, "ts": 1030, "dur": 15 },
  { "ph": "B", "cat": "cpu_op", "name": "aten::late", "pid": 11, "tid": 12, "ts": 1100 },
  { "ph": "B", "cat": "cpu_op", "name": "gloo:all_reduce", "pid": 11, "tid": 12, "ts": 1101 },
  { "ph": "E", "pid": 11, "tid": 12, "ts": 1105 },
  { "ph": "E", "pid": 11, "tid": 12, "ts": 1109 },
  { "name": "a \"quoted\" \u00e9\\", "ph": "X", "cat": "user_annotation", "pid": 11, "tid": 11, "ts": 1700, "dur": 1 },
  { "name": "process_name", "ph": "M", "ts": 1000, "pid": 11, "tid": 0, "args": {"name": "python"} },
  { "name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 2000 }
  ],
  "traceName": "x", "displayTimeUnit": "ns",
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{"ranks": [0, 1]}]},
  "host_name": "node07", "baseTimeNanoseconds": 1700000000000000000
}
)trace";

TEST(ChromeTrace, ReadsHostDeviceAndCollectiveRowsExactly) {
  const Evidence e = read(kTrace);
  EXPECT_TRUE(e.health.entries().empty()) << rows(e);
  const Ns base = 1700000000000000000;
  const size_t step = find(e, "ProfilerStep#7");
  ASSERT_NE(step, SIZE_MAX);
  EXPECT_EQ(e.spans.start[step], base + 1000500);
  EXPECT_EQ(e.spans.duration[step], 900 * kUs);
  EXPECT_EQ(e.spans.step[step], 7);
  EXPECT_EQ(e.spans.lane[step], Lane::main_thread);
  EXPECT_EQ(e.spans.rank[step], 3);
  const size_t copy = find(e, "Memcpy HtoD (Pageable -> Device)");
  ASSERT_NE(copy, SIZE_MAX);
  EXPECT_EQ(e.spans.start[copy], base + 1020125);
  EXPECT_EQ(e.spans.duration[copy], 3250);
  EXPECT_EQ(e.spans.lane[copy], Lane::gpu_copy);
  EXPECT_EQ(e.spans.phase[copy], Phase::h2d);
  EXPECT_EQ(e.spans.bytes[copy], 4096);
  EXPECT_EQ(std::count(e.spans.lane.begin(), e.spans.lane.end(), Lane::gpu_compute), 2);
  EXPECT_EQ(std::count(e.spans.lane.begin(), e.spans.lane.end(), Lane::gpu_collective), 2);
  EXPECT_NE(find(e, "a \"quoted\" \u00e9\\"), SIZE_MAX);
  EXPECT_EQ(find(e, "aten::_convolution"), SIZE_MAX) << "lies inside another plain operation";
  EXPECT_EQ(std::count(e.spans.step.begin(), e.spans.step.end(), 7), 1)
      << "the device's copy must not double";
  const size_t gloo = find(e, "gloo:all_reduce");
  ASSERT_NE(gloo, SIZE_MAX);
  EXPECT_EQ(e.spans.duration[gloo], 4 * kUs);
  EXPECT_EQ(e.spans.lane[gloo], Lane::host_thread);
  EXPECT_EQ(e.spans.duration[find(e, "aten::late")], 9 * kUs);
}

TEST(ChromeTrace, CollectivesTakeTheirArgumentsFromKernelOrHostRecord) {
  const Evidence e = read(kTrace);
  ASSERT_EQ(e.collectives.size(), 3u);
  const auto text = [&](NameId id) { return std::string(e.names[id]); };
  EXPECT_EQ(text(e.collectives.op[0]), "all_reduce");
  EXPECT_EQ(text(e.collectives.group[0]), "dp");
  EXPECT_EQ(e.collectives.bytes[0], 1024);
  EXPECT_EQ(e.collectives.seq[0], 3);
  EXPECT_EQ(e.collectives.step[0], 7) << "launched in step 7, run behind it";
  EXPECT_EQ(e.collectives.on_device[0], 1);
  EXPECT_EQ(text(e.collectives.op[1]), "reduce_scatter");
  EXPECT_EQ(text(e.collectives.group[1]), "tp");
  EXPECT_EQ(e.collectives.bytes[1], 400);
  EXPECT_EQ(e.collectives.seq[1], -1);
  EXPECT_EQ(text(e.collectives.op[2]), "all_reduce");
  EXPECT_EQ(e.collectives.on_device[2], 0);
}

TEST(ChromeTrace, RankHostDeviceAndVersionsComeFromTheTrace) {
  const Evidence e = read(kTrace, 0, "rank-5.json");
  ASSERT_TRUE(e.ranks.contains(3));
  EXPECT_EQ(e.ranks.at(3).host, "node07");
  EXPECT_EQ(e.ranks.at(3).gpu, "node07:1");
  EXPECT_FALSE(e.ranks.at(3).relative_time);
  EXPECT_EQ(e.job.world_size, 8);
  ASSERT_FALSE(e.settings.empty());
  EXPECT_EQ(e.settings[0].key, "gpu.model");
  EXPECT_EQ(e.settings[0].value, "Other \"GPU\"");
}

TEST(ChromeTrace, RowsDoNotDependOnTheSplit) {
  std::string noise = kTrace;
  noise.insert(noise.find("{ \"ph\": \"s\""),
               "{ \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"broken\n\", \"pid\": 1 },");
  for (const std::string& text : {kTrace, noise}) {
    const std::string whole = rows(read(text));
    for (size_t piece = 1; piece < 200; piece += piece < 20 ? 1 : 13)
      EXPECT_EQ(rows(read(text, piece)), whole) << piece;
    EXPECT_EQ(rows(read(text, 1000)), whole);
  }
}

TEST(ChromeTrace, RowsDoNotDependOnTheSplitBehindDamage) {
  constexpr std::string_view kWrong = "\"\\\n{}[],: x1";
  std::minstd_rand random(11);
  for (int round = 0; round < 400; ++round) {
    std::string text = kTrace;
    for (uint32_t i = 0, n = 1 + random() % 4; i < n; ++i) {
      const size_t at = random() % text.size();
      const char wrong = kWrong[random() % kWrong.size()];
      if (random() % 3 == 0) text.insert(at, 1, wrong);
      if (random() % 3 == 0) text.erase(at, 1 + random() % 40);
      text[std::min(at, text.size() - 1)] = wrong;
    }
    const std::string whole = rows(read(text));
    for (const size_t piece : {size_t{1}, size_t{3}, 1 + random() % 80, 1 + random() % 700})
      ASSERT_EQ(rows(read(text, piece)), whole) << piece << "\n" << text;
  }
}

// Values, events and depths about as large as the scanner takes, and a little larger.
TEST(ChromeTrace, RowsDoNotDependOnTheSplitAtTheLimits) {
  const std::string events = kTrace.substr(kTrace.find("  \"traceEvents\""));
  const std::string event =
      R"({"ph":"X","cat":"cpu_op","name":"late","pid":1,"tid":1,"ts":1,"dur":1},)";
  std::vector<std::string> texts = {"\xef\xbb\xbf \xef\xbb\xbf[" + event + "]",
                                    "[" + std::string(127, '[') + std::string(127, ']') + event};
  for (const size_t size : {(1u << 20) - 4, 1u << 20, (1u << 20) + 4, 5u << 20}) {
    const std::string filler(size, 'x'), nested = "[" + filler + "\"" + filler + "{\\\"[\"]";
    texts.push_back("{\"a\": [\"" + filler + "\"], \"b\": 1, " + events);
    texts.push_back("{\"a\": " + nested + ", \"b\": " + filler + "," + events);
    texts.push_back("{\"" + filler + "\": 1, " + events);
    texts.push_back("{\"a\": [\"" + filler + "\n\"], " + events);
  }
  for (size_t depth = 120; depth < 135; ++depth)
    texts.push_back("[" + event + std::string(depth - 110, ' ') + R"({"ph":"X","args":)" +
                    std::string(depth, '[') + std::string(depth, ']') + "}," + event + "]");
  for (const size_t size : {(4u << 20) - 80, 4u << 20, (4u << 20) + 80}) {
    const std::string filler(size, 'y');
    texts.push_back("[" + event + R"({"ph":"X","ts":1,"pid":1,"name":")" + filler + "\"}," + event);
    texts.push_back("[" + event + R"({"ph":"X","ts":1,"pid":1,"name":")" + filler + "\n\"}," +
                    event);
  }
  for (const std::string& text : texts) {
    const std::string whole = rows(read(text));
    for (const size_t piece : {size_t{61}, size_t{1} << 12, (size_t{1} << 20) + 3})
      ASSERT_TRUE(rows(read(text, piece)) == whole) << piece << " " << text.substr(0, 40);
  }
}

TEST(ChromeTrace, ATraceCutAnywhereKeepsItsWholeEventsAndSaysSo) {
  const size_t all = read(kTrace).spans.size();
  size_t before = 0;
  for (size_t cut = 1; cut < kTrace.size() - 3; ++cut) {
    const Evidence e = read(std::string_view(kTrace).substr(0, cut));
    EXPECT_EQ(health_count(e, "truncated_json"), 1u) << cut;
    EXPECT_GE(e.spans.size(), before) << cut;
    before = e.spans.size();
  }
  EXPECT_EQ(before, all);
}

TEST(ChromeTrace, AnyDamagedByteCostsAtMostAFewEvents) {
  const size_t all = read(kTrace).spans.size();
  for (const char wrong : {'"', '{', '}', ']', '\\', '\n', '\0', 'x'})
    for (size_t i = kTrace.find("traceEvents") + 16; i < kTrace.find("\"traceName\"") - 8; ++i) {
      std::string text = kTrace;
      text[i] = wrong;
      EXPECT_GE(read(text).spans.size() + 4, all) << i << " " << wrong;
    }
}

TEST(ChromeTrace, SurvivesHostileInput) {
  const std::string open = "{\"traceEvents\": [";
  std::string deep = open, objects = open, quotes = open;
  for (int i = 0; i < 200000; ++i) {
    deep += '[';
    objects += "{\"ph\":";
    quotes += "{\"ph\":\"";
  }
  for (const std::string& text : {deep, objects, quotes, open + std::string(6 << 20, 'a'),
                                  open + "\"" + std::string(6 << 20, '\\'), std::string("["),
                                  std::string("{"), std::string(), std::string("\xef\xbb\xbf[]")})
    read(text, 64 << 10);
  const Evidence times = read(
      R"([{"ph":"X","name":"a","ts":9223372036854775807,"dur":9223372036854775807,"pid":1,"tid":1},
    {"ph":"X","name":"b","ts":-9223372036854775807,"dur":1,"pid":1,"tid":1},
    {"ph":"X","name":"c","ts":1e400,"dur":1,"pid":1,"tid":1}, {"ph":"X","name":"d","ts":5,"dur":-1,"pid":1,"tid":1},
    {"ph":"X","name":"e","ts":NaN,"dur":1,"pid":1,"tid":1}, {"ph":"X","name":"f","ts":5,"dur":1,"pid":1,"tid":1}])");
  EXPECT_EQ(times.spans.size(), 1u);
  EXPECT_EQ(health_count(times, "bad_time"), 5u);
}

TEST(ChromeTrace, TimesAreExactAndNanosecondsAreNoticed) {
  const Evidence e =
      read(R"([{"ph":"X","name":"a","ts":1623142623460172.123,"dur":0.001,"pid":1,"tid":1},
    {"ph":"X","name":"b","ts":1712195495519689001,"dur":5000,"pid":1,"tid":1},
    {"ph":"X","name":"c","ts":"12","dur":"1.5e1","pid":1,"tid":1}])");
  ASSERT_EQ(e.spans.size(), 3u);
  EXPECT_EQ(e.spans.start[0], 1623142623460172123);
  EXPECT_EQ(e.spans.duration[0], 1);
  EXPECT_EQ(e.spans.start[1], 1712195495519689001);
  EXPECT_EQ(e.spans.duration[1], 5000);
  EXPECT_EQ(e.spans.start[2], 12 * kUs);
  EXPECT_EQ(e.spans.duration[2], 15 * kUs);
}

TEST(ChromeTrace, TimesThreeTimesTodaysAreRead) {
  const Evidence e = read(R"([{"ph":"X","name":"a","ts":5389426980516519,"dur":3,"pid":1,"tid":1},
    {"ph":"X","name":"b","ts":5389426980516519000,"dur":3000,"pid":1,"tid":2},
    {"ph":"X","name":"c","ts":6999999999999999,"dur":3,"pid":1,"tid":1},
    {"ph":"X","name":"d","ts":5,"dur":2999999999999999,"pid":1,"tid":1}])");
  ASSERT_EQ(e.spans.size(), 2u);
  EXPECT_EQ(e.spans.start[0], 5389426980516519000);
  EXPECT_EQ(e.spans.start[1], 5389426980516519000);
  EXPECT_EQ(health_count(e, "bad_time"), 2u);
}

TEST(ChromeTrace, ReadsTheBareArrayOfProfilersWithoutKineto) {
  const Evidence e = read(
      R"([{"name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "ph": "X", "ts": 809, "dur": 2169, "tid": 1, "pid": "CPU functions", "args": {}}, {"name": "aten::empty", "ph": "X", "ts": 3000, "dur": 1, "tid": 1, "pid": "CPU functions", "args": {}}, {"name": "sgemm", "ph": "X", "ts": 3000, "dur": 1, "tid": 0, "pid": "CUDA functions", "args": {}}])",
      7, "out.json");
  ASSERT_EQ(e.spans.size(), 3u);
  EXPECT_EQ(e.spans.phase[0], Phase::input_wait);
  EXPECT_EQ(e.spans.lane[0], Lane::main_thread);
  EXPECT_EQ(e.spans.lane[2], Lane::gpu_compute);
  EXPECT_TRUE(e.ranks.at(0).relative_time);
  EXPECT_EQ(health_count(e, "truncated_json"), 0u);
  EXPECT_EQ(health_count(e, "rank_assumed"), 1u);
}

TEST(ChromeTrace, OldCategoriesAndStringThreadsMeanTheSame) {
  const Evidence e = read(R"trace({"traceEvents": [
    {"ph": "X", "cat": "Operator", "name": "ProfilerStep#5", "pid": 1, "tid": "9", "ts": 0, "dur": 50},
    {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": "9", "ts": 10, "dur": 5},
    {"ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": "stream 7", "ts": 20, "dur": 5},
    {"ph": "X", "cat": "Memset", "name": "Memset (Device)", "pid": 0, "tid": "stream 7", "ts": 30, "dur": 5},
    {"ph": "X", "cat": "hip_runtime", "name": "hipDeviceSynchronize", "pid": 1, "tid": 9, "ts": 31, "dur": 5},
    {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Traces", "tid": "x", "ts": 0, "dur": 90},
    {"ph": "X", "cat": "mtia_ccp_events", "name": "pe_exe", "pid": 17, "tid": 2, "ts": 40, "dur": 5},
    {"ph": "X", "cat": "mtia_ccp_events", "name": "event_wait", "pid": 17, "tid": 2, "ts": 40, "dur": 5}
  ]})trace");
  ASSERT_EQ(e.spans.size(), 6u);
  const std::vector<Lane> lanes = {Lane::main_thread, Lane::main_thread, Lane::gpu_compute,
                                   Lane::gpu_copy,    Lane::main_thread, Lane::gpu_compute};
  EXPECT_EQ(e.spans.lane, lanes);
}

TEST(ChromeTrace, RanksComeFromNamesAndNeverCollide) {
  const std::string one = R"([{"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":1}])";
  Evidence e;
  const ImportOptions options;
  for (const std::string path :
       {"rank-34.Jul_15.json", "worker2.pt.trace.json", "rank2.json", "trace.json"}) {
    const auto reader = importer_chrome_trace.open(ImportContext{path, options, e});
    reader->feed(one);
    reader->finish(true);
  }
  const std::vector<int32_t> ranks = {34, 2, 0, 1};
  EXPECT_EQ(e.spans.rank, ranks);
  EXPECT_EQ(health_count(e, "duplicate_rank"), 1u);
}

TEST(ChromeTrace, SniffKnowsItsOwnOnly) {
  const auto score = [](std::string_view head) { return importer_chrome_trace.sniff({head, "x"}); };
  EXPECT_GT(score(kTrace), 0);
  EXPECT_GT(score("[{\"name\": \"a\", \"ph\": \"X\", \"ts\": 1, \"dur\": 7, \"tid\": 1, \"pid\": "
                  "\"CPU functions\"}"),
            0);
  EXPECT_EQ(score(""), 0);
  EXPECT_EQ(score("{\"version\": \"2.4\", \"pg_config\": {}, \"entries\": []}"), 0);
  EXPECT_EQ(score("[1, 2, 3]"), 0);
  EXPECT_EQ(score("step:1 loss:2"), 0);
  const std::string dftracer =
      "[\n{\"id\":\"0\",\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":\"1\",\"tid\":\"2\",\"ts\":"
      "\"3\",\"dur\":\"1\",\"ph\":\"X\"}\n";
  EXPECT_EQ(recognised_as(dftracer), "dftracer");
  EXPECT_EQ(recognised_as(kTrace), "chrome_trace");
}

TEST(ChromeTrace, LargeValuesBesideTheEventsStreamBy) {
  std::string text = "{\"stackFrames\": {";
  while (text.size() < (3u << 20)) text += "\"1\": {\"name\": \"f[\\\"{\"}, ";
  text += "\"2\": {}}, " + kTrace.substr(kTrace.find('"'));
  for (const size_t piece : {1000u, 256u << 10}) {
    const Evidence e = read(text, piece);
    EXPECT_EQ(e.spans.size(), read(kTrace).spans.size());
    EXPECT_TRUE(e.health.entries().empty());
  }
}

// Every real trace, whole and damaged: no crash, no hang, rows from the whole one.
TEST(ChromeTrace, ReadsRealTracesWholeCutAndCorrupted) {
  const auto folder = shared_data("traces");
  if (!folder) GTEST_SKIP() << "no shared data";
  std::minstd_rand random(7);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string path = entry.path().string(), data = read_whole(path);
    const auto feed = [&](std::string_view bytes) {
      Evidence e;
      const ImportOptions options;
      const auto reader = importer_chrome_trace.open(ImportContext{path, options, e});
      const ByteCount count = read_bytes_from_memory(bytes, [&](std::string_view chunk) {
        reader->feed(chunk);
        return true;
      });
      reader->finish(count.complete);
      return e;
    };
    const Evidence whole = feed(data);
    EXPECT_GT(whole.spans.size(), 0u) << path;
    EXPECT_EQ(health_count(whole, "truncated_json") + health_count(whole, "invalid_event"), 0u)
        << path;
    const int tries = data.size() > 1'000'000 ? 1 : data.size() > 100'000 ? 3 : 20;
    for (int i = 0; i < tries; ++i) {
      const size_t at = random() % data.size();
      EXPECT_EQ(health_count(feed(std::string_view(data).substr(0, at)), "truncated_json"), 1u)
          << path << " " << at;
      std::string damaged = data;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
      feed(damaged);
    }
  }
}

}  // namespace
}  // namespace firstwait
