#include "agent/bundle.h"

#include <zstd.h>

#include "collect/testing/bench.h"

namespace firstwait {
namespace {

TEST(Redactor, TheSameNameBecomesTheSameOtherNameEverywhere) {
  Redactor redact({"node07"}, {"alice", "root"});
  const std::string a = redact(
      "{\"entity\":\"mount/node07:/scratch/alice/imagenet\",\"source\":\"/proc/self/mountinfo\"}");
  EXPECT_EQ(a.find("node07"), std::string::npos);
  EXPECT_EQ(a.find("alice"), std::string::npos);
  EXPECT_EQ(a.find("imagenet"), std::string::npos);
  EXPECT_NE(a.find("mount/host-1:/"), std::string::npos) << a;
  EXPECT_NE(a.find("\"/proc/self/mountinfo\""), std::string::npos) << a;
  const std::string b = redact(
      "node_filesystem_size_bytes{instance=\"node07\",mountpoint=\"/scratch/alice/imagenet\"} 12 "
      "1764500000.5");
  EXPECT_NE(b.find("instance=\"host-1\""), std::string::npos);
  EXPECT_TRUE(b.ends_with("} 12 1764500000.5"));
  const size_t from = a.find(":/") + 1, to = a.find('"', from);
  EXPECT_NE(b.find("\"" + a.substr(from, to - from) + "\""), std::string::npos) << a << "\n" << b;
}

TEST(Redactor, WordsThatContainANameAndNamesOfMetricsStay) {
  Redactor redact({"node"}, {"ann"});
  EXPECT_EQ(redact("node_load1{instance=\"node\"} 1 channel"),
            "node_load1{instance=\"host-1\"} 1 channel");
}

TEST(Bundle, AFileIsReplacedByItsCompressedSelf) {
  Tree tree;
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "node_load1 " + std::to_string(i) + "\n";
  tree.file("metrics.om", text);
  ASSERT_TRUE(compress_file(tree.path() + "/metrics.om"));
  EXPECT_FALSE(read_whole(tree.path() + "/metrics.om"));
  const auto packed = read_whole(tree.path() + "/metrics.om.zst");
  ASSERT_TRUE(packed);
  EXPECT_LT(packed->size(), text.size() / 4);
  std::string again(text.size() + 1, '\0');
  EXPECT_EQ(ZSTD_decompress(again.data(), again.size(), packed->data(), packed->size()),
            text.size());
  again.resize(text.size());
  EXPECT_EQ(again, text);
  EXPECT_FALSE(compress_file(tree.path() + "/none.om"));
  EXPECT_FALSE(read_whole(tree.path() + "/none.om.zst"));
}

TEST(Bundle, TheFileIsATarInZstd) {
  Tree tree, out;
  tree.file("metrics.om", std::string(1000, 'x')).file("events.jsonl", "{}\n");
  const std::string path = out.path() + "/b.fwb";
  ASSERT_TRUE(write_fwb(tree.path(), path));
  const auto packed = read_whole(path);
  ASSERT_TRUE(packed);
  std::string tar(1 << 16, '\0');
  tar.resize(ZSTD_decompress(tar.data(), tar.size(), packed->data(), packed->size()));
  EXPECT_EQ(tar.size() % 512, 0u);
  EXPECT_TRUE(tar.starts_with("events.jsonl"));
  EXPECT_EQ(tar.substr(257, 5), "ustar");
  EXPECT_EQ(tar.substr(512, 3), "{}\n");
  EXPECT_TRUE(std::string_view(tar).substr(1024).starts_with("metrics.om"));
  EXPECT_EQ(tar.substr(1536, 1000), std::string(1000, 'x'));
  EXPECT_FALSE(write_fwb(tree.path() + "/none", path));
  EXPECT_FALSE(write_fwb(tree.path(), "/proc/none/b.fwb"));
}

}  // namespace
}  // namespace firstwait
