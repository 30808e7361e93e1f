#include "collect/instrument/line_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace firstwait {
namespace {

namespace fs = std::filesystem;

class LineFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lines.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return folder_ + "/" + name; }
  std::string text(const char* name) const {
    std::ifstream in(path(name));
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
  }
  std::string folder_;
};

TEST_F(LineFileTest, NoFileWithoutALine) {
  LineFile file(path("a.jsonl"));
  EXPECT_TRUE(file.flush());
  EXPECT_FALSE(fs::exists(path("a.jsonl")));
  file.append("1\n");
  EXPECT_TRUE(file.flush());
  EXPECT_EQ(text("a.jsonl"), "1\n");
}

TEST_F(LineFileTest, TheNewestHalfIsKeptAndWhatGoesIsCounted) {
  LineFile file(path("a.jsonl"), 40, "#\n");
  for (int i = 100; i < 200; ++i) file.append(std::to_string(i) + "\n");
  EXPECT_TRUE(file.flush());
  const std::string kept = text("a-before.jsonl") + text("a.jsonl");
  EXPECT_LE(kept.size(), 44U);
  EXPECT_GE(kept.size(), 20U);
  EXPECT_TRUE(kept.ends_with("198\n199\n")) << kept;
  EXPECT_TRUE(text("a.jsonl").starts_with("#\n"));
  const auto lines = static_cast<uint64_t>(std::count(kept.begin(), kept.end(), '\n')) - 2;
  EXPECT_EQ(file.dropped(), 100 - lines);
  EXPECT_EQ(file.lost(), 0U);
}

// A limit on the size of files stands for a full disk: both refuse a part of what is written.
TEST_F(LineFileTest, OnAFullDiskWholeLinesAreLostAndCountedAndItGoesOnWhenThereIsRoom) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    LineFile file(path("a.jsonl"));
    const auto limit = [](rlim_t bytes) {
      const rlimit l{bytes, RLIM_INFINITY};
      ::setrlimit(RLIMIT_FSIZE, &l);
    };
    limit(20);
    file.append("first line\n");
    if (!file.flush()) ::_exit(1);
    file.append("second line\n");
    file.append("third line\n");
    if (file.flush() || errno != EFBIG || file.lost() != 2) ::_exit(2);
    limit(RLIM_INFINITY);
    file.append("fourth line\n");
    if (!file.flush() || file.lost() != 2) ::_exit(3);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
  EXPECT_EQ(text("a.jsonl"), "first line\nfourth line\n");
}

TEST_F(LineFileTest, AFolderThatIsGoneLosesLinesOnly) {
  LineFile file(folder_ + "/gone/a.jsonl");
  file.append("1\n");
  EXPECT_FALSE(file.flush());
  EXPECT_EQ(file.lost(), 1U);
  fs::create_directory(folder_ + "/gone");
  file.append("2\n");
  EXPECT_TRUE(file.flush());
}

}  // namespace
}  // namespace firstwait
