#include "import/decompress.h"

#include <gtest/gtest.h>
#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <vector>

namespace firstwait {
namespace {

std::string gzip(std::string_view text) {
  std::string out(text.size() + 4096, '\0');
  isal_zstream stream;
  isal_deflate_init(&stream);
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  stream.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uint32_t>(text.size());
  stream.next_out = reinterpret_cast<uint8_t*>(out.data());
  stream.avail_out = static_cast<uint32_t>(out.size());
  isal_deflate(&stream);
  out.resize(stream.total_out);
  return out;
}

std::string zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1));
  return out;
}

struct Result {
  std::string text, damage;
};

// Feeds `data` in pieces of `piece` bytes.
Result decompress(std::string_view data, size_t piece) {
  Result r;
  Decompressor d([&](std::string_view chunk) {
    r.text += chunk;
    return true;
  });
  for (size_t i = 0; i < data.size(); i += piece)
    if (!d.feed(data.substr(i, piece))) break;
  r.damage = d.finish();
  return r;
}

TEST(Decompress, EverySplitGivesTheSame) {
  const std::string text = "some text, some text, some other text";
  for (const std::string& data : {text, gzip(text), zstd(text), zstd(text) + zstd("")})
    for (size_t piece = 1; piece <= data.size(); ++piece) {
      const Result r = decompress(data, piece);
      EXPECT_EQ(r.text, text) << piece;
      EXPECT_EQ(r.damage, "") << piece;
    }
}

TEST(Decompress, GzipMembersBehindZeroPaddingAreRead) {
  const std::string data = gzip("first ") + std::string(513, '\0') + gzip("second ") +
                           gzip("third") + std::string(7, '\0');
  for (size_t piece = 1; piece <= data.size(); ++piece) {
    const Result r = decompress(data, piece);
    EXPECT_EQ(r.text, "first second third") << piece;
    EXPECT_EQ(r.damage, "") << piece;
  }
}

TEST(Decompress, OtherBytesBehindGzipDataAreNoDamageACutIs) {
  for (const std::string_view behind : {"x", "\x1f", "\x1fx", "\x1f\x1f\x8b"})
    for (const size_t piece : {size_t{1}, size_t{4096}}) {
      const Result r = decompress(gzip("text") + std::string(behind), piece);
      EXPECT_EQ(r.text, "text");
      EXPECT_EQ(r.damage, "");
    }
  for (const std::string& whole : {gzip("text"), zstd("text")})
    EXPECT_TRUE(decompress(std::string_view(whole).substr(0, whole.size() - 3), 2)
                    .damage.ends_with("ends early"));
}

}  // namespace
}  // namespace firstwait
