#include "import/byte_source.h"

#include <gtest/gtest.h>
#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

namespace firstwait {
namespace {

std::string gzip(std::string_view text) {
  isal_zstream stream;
  isal_deflate_init(&stream);
  std::string out(text.size() + (text.size() >> 4) + 1024, '\0');
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  stream.flush = NO_FLUSH;
  stream.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uint32_t>(text.size());
  stream.next_out = reinterpret_cast<uint8_t*>(out.data());
  stream.avail_out = static_cast<uint32_t>(out.size());
  EXPECT_EQ(isal_deflate(&stream), COMP_OK);
  EXPECT_EQ(stream.internal_state.state, ZSTATE_END);
  out.resize(out.size() - stream.avail_out);
  return out;
}

std::string zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1));
  return out;
}

// Text that does not compress away: large enough for the second thread to be used.
std::string text(size_t n) {
  std::string out;
  uint64_t x = 1;
  while (out.size() < n) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    out += std::to_string(x >> 20);
    out += ',';
  }
  out.resize(n);
  return out;
}

struct Read {
  ByteCount count;
  std::string bytes;
};
Read read(std::string_view data) {
  Read r;
  r.count = read_bytes_from_memory(data, [&](std::string_view chunk) {
    EXPECT_FALSE(chunk.empty());
    r.bytes.append(chunk);
    return true;
  });
  EXPECT_EQ(r.count.bytes, r.bytes.size());
  return r;
}

TEST(ByteSource, DeliversPlainGzipAndZstdOfEverySizeUnchanged) {
  for (const size_t n :
       {1u, 5u, 1000u, (128u << 10) - 1, 128u << 10, 256u << 10, (1u << 20) + 7, 9u << 20}) {
    const std::string t = text(n);
    for (const auto& data : {t, gzip(t), zstd(t)}) {
      const Read r = read(data);
      EXPECT_TRUE(r.count.complete) << r.count.damage;
      EXPECT_TRUE(r.bytes == t) << n;
    }
  }
}

TEST(ByteSource, DeliversNothingFromEmptyInput) {
  EXPECT_TRUE(read("").count.complete);
  EXPECT_EQ(read("").bytes, "");
  EXPECT_TRUE(read(gzip("")).count.complete);
  EXPECT_EQ(read(zstd("")).bytes, "");
}

TEST(ByteSource, JoinsGzipMembersWhereverTheyMeetABuffer) {
  const std::string a = gzip(text(100)), b = gzip("tail");
  for (const size_t n : {10u, 100u, 60000u, 290000u, 1000000u}) {
    const std::string t = text(n), whole = gzip(t);
    for (const size_t padding : {0u, 3u}) {
      const Read r = read(whole + std::string(padding, '\0') + a + b);
      EXPECT_TRUE(r.count.complete) << r.count.damage;
      EXPECT_TRUE(r.bytes == t + text(100) + "tail") << n;
    }
  }
  std::string many, expected;
  for (int i = 0; i < 20000; ++i) {
    many += gzip("member " + std::to_string(i));
    expected += "member " + std::to_string(i);
  }
  EXPECT_TRUE(read(many).bytes == expected);
}

TEST(ByteSource, IgnoresGarbageBehindGzipDataAndSaysSo) {
  const Read r = read(gzip("hello") + "garbage");
  EXPECT_EQ(r.bytes, "hello");
  EXPECT_TRUE(r.count.complete);
  EXPECT_NE(r.count.damage, "");
  EXPECT_TRUE(read(gzip("hello") + std::string(5000, '\0')).count.damage.empty());
}

TEST(ByteSource, DeliversWhatCameBeforeACut) {
  const std::string t = text(3 << 20);
  for (const std::string& whole : {gzip(t), zstd(t), gzip(text(300)), zstd(text(300))}) {
    const std::string full = read(whole).bytes;
    const size_t step = std::max<size_t>(1, whole.size() / 40);
    for (size_t cut = 5; cut < whole.size(); cut += step) {
      const Read r = read(std::string_view(whole).substr(0, cut));
      EXPECT_FALSE(r.count.complete) << cut;
      EXPECT_NE(r.count.damage, "");
      EXPECT_TRUE(full.starts_with(r.bytes));
    }
  }
}

TEST(ByteSource, NoticesAWrongChecksum) {
  std::string data = gzip(text(2 << 20));
  data[data.size() - 6] = static_cast<char>(data[data.size() - 6] ^ 1);
  const Read r = read(data);
  EXPECT_FALSE(r.count.complete);
  EXPECT_NE(r.count.damage.find("checksum"), std::string::npos) << r.count.damage;
  EXPECT_EQ(r.bytes.size(), 2u << 20);
}

TEST(ByteSource, SurvivesAnyDamagedByte) {
  for (const std::string& whole :
       {gzip(text(200 << 10)), zstd(text(200 << 10)), gzip(text(60)), zstd(text(60))}) {
    const size_t step = std::max<size_t>(1, whole.size() / 97);
    for (size_t i = 2; i < whole.size(); i += step) {
      std::string data = whole;
      data[i] = static_cast<char>(~data[i]);
      read_bytes_from_memory(data, [](std::string_view) { return true; });
    }
  }
}

TEST(ByteSource, StopsWhenNobodyWantsMore) {
  for (const std::string& data :
       {text(20 << 20), gzip(text(20 << 20)), zstd(text(20 << 20)), gzip(text(50))}) {
    int calls = 0;
    const ByteCount count =
        read_bytes_from_memory(data, [&](std::string_view) { return ++calls < 2; });
    EXPECT_LE(calls, 2);
    EXPECT_LT(count.bytes, 20u << 20);
  }
}

TEST(ByteSource, AnExceptionOfTheCallerEndsTheReadingThread) {
  const std::string data = gzip(text(20 << 20));
  EXPECT_THROW(
      read_bytes_from_memory(data, [](std::string_view) -> bool { throw std::bad_alloc(); }),
      std::bad_alloc);
}

TEST(ByteSource, ReadsFilesAndRefusesWhatIsNone) {
  const std::string path = testing::TempDir() + "byte_source_test.gz";
  const std::string t = text(1 << 20), data = gzip(t);
  std::ofstream(path, std::ios::binary) << data;
  std::string got;
  const auto result = read_bytes(path, [&](std::string_view chunk) {
    got.append(chunk);
    return true;
  });
  std::filesystem::remove(path);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(got == t);
  EXPECT_FALSE(read_bytes("/nonexistent/file", [](std::string_view) { return true; }).ok());
  EXPECT_FALSE(read_bytes("/", [](std::string_view) { return true; }).ok());
}

}  // namespace
}  // namespace firstwait
