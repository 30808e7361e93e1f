#include "agent/spool.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/stats.h"
#include "collect/testing/bench.h"

namespace firstwait {
namespace {

Spool open_spool(const std::string& directory, size_t bytes = 1 << 20) {
  auto spool = Spool::open(directory, bytes);
  EXPECT_TRUE(spool) << spool.error().what;
  return std::move(*spool);
}

std::string message_file(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().extension() == ".msg") return entry.path();
  return {};
}

TEST(Spool, MessagesComeBackInOrderAfterARestartAndOnce) {
  Tree tree;
  {
    Spool spool = open_spool(tree.path());
    spool.put("metrics", "one");
    spool.put("logs", std::string("t\0wo", 4));
  }
  Spool spool = open_spool(tree.path());
  auto first = spool.front();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->body, "one");
  EXPECT_EQ(first->kind, "metrics");
  spool.remove(first->sequence);
  auto second = open_spool(tree.path()).front();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->body, std::string("t\0wo", 4));
  EXPECT_GT(second->sequence, first->sequence);
  spool.remove(second->sequence);
  EXPECT_FALSE(open_spool(tree.path()).front());
}

TEST(Spool, TheBoundHoldsAndWhatWasDroppedIsCounted) {
  Tree tree;
  Spool spool = open_spool(tree.path(), 64 << 10);
  for (int i = 0; i < 100; ++i) spool.put("metrics", std::to_string(i) + std::string(10'000, 'x'));
  EXPECT_LE(spool.counts().bytes, 64u << 10);
  EXPECT_EQ(spool.counts().dropped_full + spool.counts().waiting, 100u);
  EXPECT_TRUE(spool.front()->body.starts_with(std::to_string(100 - spool.counts().waiting)))
      << "the oldest go first";
  uintmax_t on_disk = 0;
  for (const auto& entry : std::filesystem::directory_iterator(tree.path()))
    on_disk += entry.file_size();
  EXPECT_EQ(on_disk, spool.counts().bytes);
  spool.put("metrics", std::string(1 << 20, 'y'));
  EXPECT_EQ(spool.counts().dropped_full + spool.counts().waiting, 101u)
      << "too large for the bound";
}

TEST(Spool, AnyDamagedByteIsNoticed) {
  const std::string body = "all samples of a minute";
  for (size_t at = 0; at < 40 + body.size(); ++at) {
    Tree tree;
    open_spool(tree.path()).put("metrics", body);
    std::fstream file(message_file(tree.path()), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(file.get() ^ 0x10);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
    file.close();
    Spool spool = open_spool(tree.path());
    EXPECT_FALSE(spool.front()) << "byte " << at;
    EXPECT_EQ(spool.counts().dropped_damaged, 1u);
    EXPECT_EQ(spool.counts().bytes, 0u);
  }
}

TEST(Spool, ATruncatedOrForeignFileIsPassedOver) {
  Tree tree;
  open_spool(tree.path()).put("metrics", std::string(1000, 'x'));
  std::filesystem::resize_file(message_file(tree.path()), 500);
  tree.file("00000000000000000001.msg.tmp", "half")
      .file("readme.txt", "mine")
      .file("xxxxxxxxxxxxxxxxxxxx.msg", "?");
  Spool spool = open_spool(tree.path());
  EXPECT_FALSE(spool.front());
  EXPECT_EQ(spool.counts().dropped_damaged, 1u);
  EXPECT_TRUE(std::filesystem::exists(tree.path() + "/readme.txt"));
}

TEST(Spool, AFullDiskMovesNewMessagesToMemoryWithinABound) {
  Tree tree;
  Spool spool = open_spool(tree.path(), 64 << 20);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit none{100, before.rlim_max};
  ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &none);
  for (int i = 0; i < 100; ++i) spool.put("metrics", std::to_string(i) + std::string(100'000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_LE(spool.counts().bytes, 4u << 20);
  EXPECT_EQ(spool.counts().dropped_full + spool.counts().waiting, 100u);
  EXPECT_TRUE(spool.front());
  EXPECT_TRUE(std::filesystem::is_empty(tree.path())) << "no half-written file stays";
}

TEST(Spool, KilledAtFiftyRandomMomentsItHoldsWholeMessagesAndLosesNoneThatWereTaken) {
  Tree tree;
  Random random(11);
  int64_t written = 0;
  for (int round = 0; round < 50; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      auto spool = Spool::open(tree.path(), 256 << 20);
      for (int64_t i = written;; ++i) {
        spool->put("metrics", std::to_string(i) + ":" + std::string(20'000, 'x'));
        if (::write(pipe_ends[1], &i, sizeof i) != sizeof i) ::_exit(1);
      }
    }
    ::close(pipe_ends[1]);
    ::usleep(static_cast<useconds_t>(1000 + random.below(8000)));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    int64_t last = 0;
    while (::read(pipe_ends[0], &last, sizeof last) == sizeof last) written = last + 1;  // taken
    ::close(pipe_ends[0]);
  }
  ASSERT_GT(written, 50);
  Spool spool = open_spool(tree.path(), 256 << 20);
  std::vector<int> seen(static_cast<size_t>(written), 0);
  while (const auto message = spool.front()) {
    const auto i = static_cast<size_t>(std::stoll(message->body));
    if (i < seen.size()) seen[i] = 1;  // one more may have been written and not yet told
    spool.remove(message->sequence);
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 0), 0) << "of " << written;
  EXPECT_EQ(spool.counts().dropped_damaged, 0u);
}

TEST(Spool, ADirectoryThatCannotBeMadeIsAnErrorWithARemedy) {
  const auto spool = Spool::open("/proc/none/spool", 1 << 20);
  ASSERT_FALSE(spool);
  EXPECT_NE(spool.error().remedy, "");
}

}  // namespace
}  // namespace firstwait
