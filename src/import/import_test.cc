#include "import/import.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>

#include "import/import_testing.h"
#include "import/tar.h"

namespace firstwait {
namespace {

namespace fs = std::filesystem;

const std::string kSteps = R"({"rank":0,"step":1,"duration":1}
{"rank":0,"step":2,"duration":1}
)";
const std::string kEvents = R"({"kind":"checkpoint","start":5}
)";

std::string tar_header(std::string_view name, uint64_t size, char type = '0') {
  std::string h(512, '\0');
  h.replace(0, std::min<size_t>(100, name.size()), name.substr(0, 100));
  char octal[13];
  std::snprintf(octal, sizeof octal, "%011llo", static_cast<unsigned long long>(size));
  h.replace(124, 11, octal);
  h[156] = type;
  h.replace(257, 5, "ustar");
  h.replace(263, 2, "00");
  h.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : h) sum += static_cast<unsigned char>(c);
  std::snprintf(octal, sizeof octal, "%06o", sum);
  h.replace(148, 7, std::string(octal) + '\0');
  return h;
}

std::string tar_member(std::string_view name, std::string_view body, char type = '0') {
  std::string out = tar_header(name, body.size(), type) + std::string(body);
  out.resize((out.size() + 511) / 512 * 512, '\0');
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1));
  return out;
}

class Import : public ::testing::Test {
 protected:
  Import() {
    std::string name = (fs::temp_directory_path() / "import-test-XXXXXX").string();
    dir_ = ::mkdtemp(name.data());
  }
  ~Import() override { fs::remove_all(dir_); }
  std::string write(const std::string& name, const std::string& text) {
    const fs::path path = dir_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  Result<ImportSummary> run(const std::vector<std::string>& paths) {
    return import_inputs(paths, options_, out_);
  }

  fs::path dir_;
  ImportOptions options_;
  Evidence out_;
};

TEST_F(Import, FilesDirectoriesAndBundlesMix) {
  write("b/steps.jsonl", kSteps);
  write("b/deep/er/events.jsonl", kEvents);
  const std::string tar = tar_member("steps.jsonl", kSteps) + tar_member("dir/", "", '5') +
                          tar_member("dir/events.jsonl.zst", zstd(kEvents)) +
                          std::string(1024, '\0');
  const std::string fwb = write("site.fwb", zstd(tar)), plain = write("old.tar", tar);
  const auto summary = run({(dir_ / "b").string(), fwb, plain});
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->files, 6U);
  EXPECT_EQ(summary->recognised, 6U);
  EXPECT_EQ(summary->read, 6U);
  EXPECT_EQ(out_.steps.size(), 6U);
  EXPECT_EQ(out_.events.size(), 3U);
  EXPECT_EQ(out_.sources[2].path, fwb + "/steps.jsonl");
  EXPECT_EQ(out_.sources[3].path, fwb + "/dir/events.jsonl.zst");
  EXPECT_TRUE(out_.health.entries().empty());
}

TEST_F(Import, TheSameFileIsReadOnceHoweverItIsNamed) {
  const std::string path = write("d/steps.jsonl", kSteps);
  fs::create_symlink(path, dir_ / "d/link.jsonl");
  fs::create_directory_symlink(dir_ / "d", dir_ / "d/loop");
  fs::create_symlink(dir_ / "d/self", dir_ / "d/self");
  ASSERT_TRUE(run({path, (dir_ / "d").string(), path}).ok());
  EXPECT_EQ(out_.steps.size(), 2U);
  EXPECT_EQ(health_count(out_, "duplicate_input"), 3U);
  EXPECT_EQ(health_count(out_, "unreadable_file"), 1U);  // the link to itself
}

TEST_F(Import, WhatDoesNotExistOrSaysNothingIsAnErrorWithARemedy) {
  EXPECT_EQ(run({(dir_ / "nope").string()}).error().where, (dir_ / "nope").string());
  const std::string empty = write("empty.json", "");
  const auto result = run({empty});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(health_count(out_, "empty_file"), 1U);
  EXPECT_NE(result.error().remedy.find("record or copy it again"), std::string::npos);
  fs::create_directory(dir_ / "none");
  EXPECT_FALSE(run({(dir_ / "none").string()}).ok());
  EXPECT_FALSE(run({}).ok());
}

TEST_F(Import, AMissingInputIsCountedAndTheOthersAreRead) {
  const std::string path = write("steps.jsonl", kSteps);
  ASSERT_TRUE(run({path, (dir_ / "nope").string()}).ok());
  EXPECT_EQ(out_.steps.size(), 2U);
  EXPECT_EQ(health_count(out_, "missing_input"), 1U);
}

TEST_F(Import, AByteOrderMarkIsSkippedAndUtf16IsNamed) {
  ASSERT_TRUE(run({write("steps.jsonl", "\xef\xbb\xbf" + kSteps)}).ok());
  EXPECT_EQ(out_.steps.size(), 2U);
  EXPECT_TRUE(out_.health.entries().empty());
  std::string wide = "\xff\xfe";
  for (const char c : kSteps) wide += {c, '\0'};
  EXPECT_FALSE(run({write("wide.jsonl", wide)}).ok());
  EXPECT_EQ(health_count(out_, "utf16_text"), 1U);
}

TEST_F(Import, ADamagedArchiveGivesWhatCameBefore) {
  std::string tar = tar_member("steps.jsonl", kSteps) +
                    tar_member("events.jsonl", std::string(40, ' ') + kEvents);
  tar.resize(512 + 512 + 512 + 20);
  ASSERT_TRUE(run({write("cut.tar", tar)}).ok());
  EXPECT_EQ(out_.steps.size(), 2U);
  EXPECT_GE(health_count(out_, "damaged_archive"), 1U);
}

TEST_F(Import, WhatStaysCompressedIsNamedSo) {
  const auto twice = import_inputs({write("steps.jsonl.zst", zstd(zstd(kSteps)))}, {}, out_);
  ASSERT_FALSE(twice);
  EXPECT_EQ(health_count(out_, "still_compressed"), 1U);
  EXPECT_NE(twice.error().remedy.find("decompress it"), std::string::npos);
}

TEST_F(Import, AnArchiveWhoseFirstHeaderIsDamagedIsNotReadAsSomethingElse) {
  std::string tar = tar_member("steps.jsonl", kSteps);
  tar[130] = '9';
  ASSERT_FALSE(import_inputs({write("a.fwb", zstd(tar))}, {}, out_));
  EXPECT_EQ(health_count(out_, "corrupt_archive"), 1U);
  EXPECT_EQ(out_.health.entries().size(), 1U);
}

TEST_F(Import, AFileOfAKnownKindWithNothingToUseSaysSo) {
  const auto read = import_inputs({write("a.csv", "step,rank,time_s\n")}, {}, out_);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->read, 0U);
  ASSERT_FALSE(out_.health.entries().empty());
}

TEST_F(Import, HostileMemberNamesAndSizesAreHarmless) {
  EXPECT_EQ(sanitised_member_name("/../../etc/pass\nwd"), "etc/pass?wd");
  EXPECT_EQ(sanitised_member_name("../.."), "unnamed");
  const std::string tar =
      tar_member("steps.jsonl", kSteps) + tar_header("huge", uint64_t{07777777777}, 'L') + "x";
  ASSERT_TRUE(run({write("hostile.tar", tar)}).ok());
  EXPECT_EQ(out_.steps.size(), 2U);
  EXPECT_EQ(health_count(out_, "corrupt_archive"), 1U);
}

TEST_F(Import, LongNamesAreReadAndLinksAndInnerArchivesAreCounted) {
  const std::string name = std::string(150, 'd') + "/steps.jsonl";
  const std::string pax = std::to_string(name.size() + 10) + " path=" + name + "\n";
  const std::string tar = tar_member("././@LongLink", name + '\0', 'L') +
                          tar_member("short", kSteps) + tar_member("pax", pax, 'x') +
                          tar_member("short", kSteps) + tar_member("link", "", '2') +
                          tar_member("inner.tar", tar_member("steps.jsonl", kSteps));
  const std::string path = write("a.tar", tar);
  ASSERT_TRUE(run({path}).ok());
  ASSERT_EQ(out_.sources.size(), 2U);
  EXPECT_EQ(out_.sources[0].path, path + "/" + name);
  EXPECT_EQ(out_.sources[1].path, path + "/" + name);
  EXPECT_EQ(health_count(out_, "archive_links"), 1U);
  EXPECT_EQ(health_count(out_, "nested_archive"), 1U);
}

TEST_F(Import, ProgressTellsTheInputAndItsBytes) {
  uint64_t last = 0;
  options_.progress = [&](std::string_view, uint64_t bytes) { last = bytes; };
  ASSERT_TRUE(run({write("steps.jsonl", kSteps)}).ok());
  EXPECT_EQ(last, kSteps.size());
}

// Every sample belongs to exactly the importer that its name says, whatever the file is called.
TEST(Recognition, NoImporterTakesAnothersSample) {
  const std::pair<std::string_view, std::string_view> samples[] = {
      {"steps", kSteps},
      {"steps",
       R"({"step":1,"rank":0,"start":5,"duration":1,"kind":"train","collectives":[{"op":"all_reduce"}]})"},
      {"spans", R"({"rank":1,"step":4,"phase":"forward","start":1764500000.25,"duration":0.125})"},
      {"events", kEvents},
      {"settings", R"({"entity":"host/node01","key":"cpu.affinity","value":"0-3"})"},
      {"job", "job: a\nworld_size: 8\n"},
      {"inventory", "entities:\n  - {kind: host, id: a}\n"},
      {"openmetrics", "# TYPE node_load1 gauge\nnode_load1 0.5\n"},
      {"openmetrics", "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 95 1764500000000\n"},
      {"nvidia_smi",
       "==============NVSMI LOG==============\nTimestamp : Wed Sep 25 10:40:24 2024\n"},
      {"nvidia_smi",
       "timestamp, index, utilization.gpu [%], pstate\n2026/07/14 08:12:53.500, 0, 9 %, P0\n"},
      {"nvidia_smi", "<?xml version=\"1.0\"?>\n<nvidia_smi_log>\n"},
      {"kernel_log", "[    1.500000] NVRM: Xid (PCI:0000:9b:00): 79, gone\n"},
      {"kernel_log", "Feb 23 16:24:18 node08 kernel: mlx5_core 0000:3b:00.0 eth2: Link down\n"},
      {"flight_recorder", R"({"pg_config":{},"entries":[{"collective_seq_id":1}]})"}};
  for (const auto& [name, text] : samples) EXPECT_EQ(recognised_as(text), name) << text;
  for (const std::string_view text : {"", "{", "hello\n", "{\"a\":1}\n", "a: b\n", "\x00\x01\x02"})
    EXPECT_EQ(recognised_as(text), "") << text;
}

}  // namespace
}  // namespace firstwait
