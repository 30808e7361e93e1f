#include "collect/instrument/rings.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "emit/layout.h"
#include "firstwait/emit.h"

namespace firstwait {
namespace {

namespace fs = std::filesystem;

// Runs `body` in a child with a ring folder of its own: the library keeps one ring for the life of
// a process.
class Rings : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "rings.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  template <typename Body>
  pid_t start(Body body) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::setenv("FIRSTWAIT_DIR", folder_.c_str(), 1);
    body();
    ::_exit(0);
  }
  template <typename Body>
  int run(Body body) {
    int status = 0;
    ::waitpid(start(body), &status, 0);
    return status;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder_))  // not one that is being made
      if (entry.path().extension() == ".ring") out.push_back(entry.path().string());
    std::sort(out.begin(), out.end());
    return out;
  }
  struct Content {
    std::vector<RingRecord> records;
    std::vector<RingSetting> settings;
  };
  static Content read(RingReader& ring, bool gone = true, Ns now = 0) {
    Content c;
    ring.poll(now, gone, c.records, c.settings);
    return c;
  }
  std::string folder_;
};

TEST_F(Rings, WhatWasWrittenIsRead) {
  ASSERT_EQ(run([] {
              const auto load = firstwait_name("load", FIRSTWAIT_INPUT_WAIT);
              const auto group = firstwait_name("world", 0);
              firstwait_identity(3, 8, 1, FIRSTWAIT_TRAINER);
              firstwait_setting("loader.num_workers", "4");
              const int64_t start = firstwait_now();
              firstwait_span(load, start);
              firstwait_span_full(firstwait_name("all_reduce", FIRSTWAIT_COLLECTIVE), start,
                                  start + 7, group, 12, 4096, 0);
              firstwait_counter(firstwait_name("queue", 0), 2.5);
              firstwait_step(41, 64);
            }),
            0);
  ASSERT_EQ(files().size(), 1U);
  auto ring = RingReader::open(files()[0]);
  ASSERT_TRUE(ring.ok());
  const Content c = read(*ring);
  EXPECT_EQ(ring->identity().rank, 3);
  EXPECT_EQ(ring->identity().world_size, 8);
  EXPECT_EQ(ring->identity().local_rank, 1);
  EXPECT_EQ(ring->identity().role, ProcessRole::trainer);
  EXPECT_EQ(ring->identity().parent, ::getpid());
  ASSERT_EQ(c.settings.size(), 1U);
  EXPECT_EQ(c.settings[0].key + "=" + c.settings[0].value, "loader.num_workers=4");
  ASSERT_EQ(c.records.size(), 4U);
  EXPECT_EQ(ring->name(c.records[0].name), "load");
  EXPECT_EQ(c.records[0].phase, FIRSTWAIT_INPUT_WAIT);
  EXPECT_LE(c.records[0].start, c.records[0].end);
  EXPECT_EQ(ring->name(c.records[1].group), "world");
  EXPECT_EQ(c.records[1].end - c.records[1].start, 7);
  EXPECT_EQ(c.records[1].seq, 12);
  EXPECT_EQ(c.records[1].value, 4096);
  double value = 0;
  std::memcpy(&value, &c.records[2].value, sizeof value);
  EXPECT_EQ(value, 2.5);
  EXPECT_EQ(c.records[3].kind, RingKind::step);
  EXPECT_EQ(c.records[3].seq, 41);
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  EXPECT_NEAR(static_cast<double>(c.records[3].end) * 1e-9, static_cast<double>(now.tv_sec), 60);
}

TEST_F(Rings, WithoutAFolderNothingHappens) {
  ASSERT_EQ(run([] {
              ::unsetenv("FIRSTWAIT_DIR");
              if (firstwait_open(0) != ENOENT) ::_exit(1);
              firstwait_span(firstwait_name("x", 0), firstwait_now());
              firstwait_setting("a", "b");
              firstwait_identity(0, 1, 0, 1);
            }),
            0);
  EXPECT_TRUE(files().empty());
}

TEST_F(Rings, AFolderThatCannotBeWrittenIsNoFault) {
  ASSERT_EQ(run([] {
              ::setenv("FIRSTWAIT_DIR", "/proc/nowhere", 1);
              if (firstwait_open(0) == 0) ::_exit(1);
              firstwait_step(0, 1);
            }),
            0);
}

TEST_F(Rings, AKilledWritersRecordsAreRead) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t pid = start([&] {
    const auto op = firstwait_name("work", FIRSTWAIT_FORWARD);
    for (int i = 0; i < 1000; ++i) firstwait_span_full(op, i + 1, i + 2, 0, i, -1, 0);
    firstwait_begin(firstwait_name("endless", FIRSTWAIT_BACKWARD));
    (void)!::write(ready[1], "x", 1);
    ::pause();
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  auto ring = RingReader::open(files().at(0));
  ASSERT_TRUE(ring.ok());
  const Content c = read(*ring);
  ASSERT_EQ(c.records.size(), 1001U);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(c.records[static_cast<size_t>(i)].seq, i);
  EXPECT_EQ(c.records.back().kind, RingKind::begin);
  EXPECT_EQ(ring->name(c.records.back().name), "endless");
  EXPECT_EQ(ring->lost() + ring->torn(), 0U);
}

TEST_F(Rings, EightThreadsLoseNothingThatFits) {
  constexpr int kThreads = 8, kEach = 4000;
  ASSERT_EQ(run([] {
              firstwait_open(kThreads * kEach);
              std::vector<std::thread> threads;
              for (int t = 0; t < kThreads; ++t)
                threads.emplace_back([t] {
                  const auto op =
                      firstwait_name(("thread " + std::to_string(t)).c_str(), FIRSTWAIT_HOST);
                  for (int i = 0; i < kEach; ++i) firstwait_span_full(op, 1, 2, 0, i, t, 0);
                });
              for (auto& thread : threads) thread.join();
            }),
            0);
  auto ring = RingReader::open(files().at(0));
  ASSERT_TRUE(ring.ok());
  const Content c = read(*ring);
  ASSERT_EQ(c.records.size(), static_cast<size_t>(kThreads * kEach));
  std::vector<int64_t> next(kThreads, 0);
  for (const auto& r : c.records) {
    EXPECT_EQ(ring->name(r.name), "thread " + std::to_string(r.value));
    EXPECT_EQ(r.seq, next[static_cast<size_t>(r.value)]++);  // each thread's in its order
  }
}

TEST_F(Rings, WhatIsOverwrittenUnreadIsCounted) {
  ASSERT_EQ(run([] {
              firstwait_open(64);
              for (int i = 0; i < 1000; ++i) firstwait_step(i, -1);
            }),
            0);
  auto ring = RingReader::open(files().at(0));
  ASSERT_TRUE(ring.ok());
  const Content c = read(*ring);
  ASSERT_EQ(c.records.size(), 64U);
  EXPECT_EQ(c.records.front().seq, 936);
  EXPECT_EQ(ring->lost(), 936U);
}

TEST_F(Rings, AReaderThatIsOvertakenGetsWholeRecordsOnly) {
  const pid_t pid = start([] {
    firstwait_open(64);
    const auto op = firstwait_name("fast", FIRSTWAIT_HOST);
    for (int64_t i = 1; i < 3'000'000; ++i) firstwait_span_full(op, i, 2 * i, op, 3 * i, 4 * i, 0);
  });
  while (files().empty()) ::usleep(1000);
  auto ring = RingReader::open(files().at(0));
  ASSERT_TRUE(ring.ok());
  uint64_t read_count = 0;
  const auto check = [&](const Content& c) {
    for (const auto& r : c.records) {
      ASSERT_EQ(r.end - r.start, r.seq / 3);
      ASSERT_EQ(r.value, r.seq / 3 * 4);
    }
    read_count += c.records.size();
  };
  Ns now = 0;
  while (::waitpid(pid, nullptr, WNOHANG) == 0) check(read(*ring, false, now += 1000));
  check(read(*ring));
  EXPECT_EQ(read_count + ring->lost() + ring->torn(), 2'999'999U);
  EXPECT_GT(ring->lost(), 0U);
}

TEST_F(Rings, AForkedChildHasARingOfItsOwnAndKnowsTheNames) {
  ASSERT_EQ(run([] {
              const auto op = firstwait_name("shared", FIRSTWAIT_FETCH);
              firstwait_setting("of", "parent");
              firstwait_identity(5, 8, 5, FIRSTWAIT_TRAINER);
              firstwait_span(op, 1);
              const pid_t child = ::fork();
              firstwait_span(op, 2);
              if (child == 0) {
                firstwait_span(firstwait_name("own", FIRSTWAIT_COLLATE), 3);
                ::_exit(0);
              }
              ::waitpid(child, nullptr, 0);
            }),
            0);
  ASSERT_EQ(files().size(), 2U);
  size_t records = 0, settings = 0, ranks = 0;
  for (const auto& file : files()) {
    auto ring = RingReader::open(file);
    ASSERT_TRUE(ring.ok());
    const Content c = read(*ring);
    ASSERT_EQ(c.records.size(), 2U);
    for (const auto& r : c.records)
      EXPECT_EQ(r.thread, static_cast<uint32_t>(ring->identity().pid));
    EXPECT_EQ(ring->name(c.records[0].name), "shared");
    if (ring->identity().rank == 5)
      ++ranks;
    else
      EXPECT_EQ(ring->name(c.records[1].name), "own");
    records += c.records.size();
    settings += c.settings.size();
  }
  EXPECT_EQ(records, 4U);
  EXPECT_EQ(settings, 1U);
  EXPECT_EQ(ranks, 1U);
}

TEST_F(Rings, AFullStringTableGivesTheEmptyNameAndIsNoFault) {
  ASSERT_EQ(run([] {
              for (int i = 0; i < 5000; ++i)
                firstwait_setting(std::to_string(i).c_str(), std::string(5000, 'x').c_str());
              for (int i = 0; i < 200; ++i) firstwait_setting("fills", "the rest");
              firstwait_span(firstwait_name("late", FIRSTWAIT_HOST), 1);
            }),
            0);
  auto ring = RingReader::open(files().at(0));
  ASSERT_TRUE(ring.ok());
  const Content c = read(*ring);
  EXPECT_GE(c.settings.size(), 63U);
  EXPECT_EQ(c.settings[0].value.size(), 4096U);
  EXPECT_EQ(ring->name(c.records.at(0).name), "");
}

// A ring as the library writes it, to be damaged.
class DamagedRings : public Rings {
 protected:
  std::string ring_of(int records) {
    run([records] {
      firstwait_open(64);
      firstwait_setting("key", "value");
      const auto op = firstwait_name("op", FIRSTWAIT_HOST);
      for (int i = 0; i < records; ++i) firstwait_span_full(op, 10, 20, 0, i, -1, 0);
    });
    return files().at(0);
  }
  static void patch(const std::string& path, size_t at, const void* bytes, size_t n) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(n));
  }
  static void patch(const std::string& path, size_t at, uint64_t word) {
    patch(path, at, &word, sizeof word);
  }
};

// Its monotonic clock counts from elsewhere: what its own clocks said to one another holds.
TEST_F(DamagedRings, AContainersOwnClockIsKept) {
  const auto path = ring_of(3);
  auto plain = RingReader::open(path);
  ASSERT_TRUE(plain.ok());
  const ClockPair clock = ClockPair::now();
  ClockPair elsewhere = clock;
  elsewhere.monotonic += Ns{1'000'000} * 1'000'000'000;
  auto other = RingReader::open(path, elsewhere);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->at(0), plain->at(0));
  auto same = RingReader::open(path, clock);
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->at(0), clock.to_epoch());
}

TEST_F(DamagedRings, ARecordHalfWrittenIsWaitedForAndThenCounted) {
  const std::string path = ring_of(10);
  patch(path, ring::kHeaderBytes + 4 * ring::kRecordBytes + 8, 99);  // the start of record 4
  auto ring = RingReader::open(path);
  ASSERT_TRUE(ring.ok());
  EXPECT_EQ(read(*ring, false, 1'000'000'000).records.size(), 4U);
  EXPECT_EQ(read(*ring, false, 1'500'000'000).records.size(), 0U);
  EXPECT_EQ(ring->torn(), 0U);
  EXPECT_EQ(read(*ring, false, 2'000'000'000).records.size(), 5U);
  EXPECT_EQ(ring->torn(), 1U);
}

TEST_F(DamagedRings, ARecordThatADyingWriterLeftIsCountedAtOnce) {
  const std::string path = ring_of(10);
  patch(path, offsetof(ring::Header, head), 11);  // begun and not written
  auto ring = RingReader::open(path);
  ASSERT_TRUE(ring.ok());
  EXPECT_EQ(read(*ring).records.size(), 10U);
  EXPECT_EQ(ring->torn(), 1U);
}

TEST_F(DamagedRings, NumbersThatContradictTheFileAreRefused) {
  const std::string path = ring_of(10);
  for (const auto& [at, value] : std::vector<std::pair<size_t, uint64_t>>{{0, 1},
                                                                          {8, UINT64_MAX},
                                                                          {16, 0},
                                                                          {16, UINT32_MAX},
                                                                          {16, 65},
                                                                          {24, 0},
                                                                          {24, UINT64_MAX},
                                                                          {32, UINT64_MAX}}) {
    const std::string copy = folder_ + "/copy";
    fs::copy_file(path, copy, fs::copy_options::overwrite_existing);
    patch(copy, at, value);
    EXPECT_FALSE(RingReader::open(copy).ok()) << at << " " << value;
  }
  fs::resize_file(path, 5000);
  EXPECT_FALSE(RingReader::open(path).ok());
  EXPECT_FALSE(RingReader::open(folder_).ok());
  EXPECT_FALSE(RingReader::open(folder_ + "/none").ok());
}

TEST_F(DamagedRings, AHeadThatLiesCostsNoTime) {
  const std::string path = ring_of(10);
  patch(path, offsetof(ring::Header, head), UINT64_MAX);
  auto ring = RingReader::open(path);
  ASSERT_TRUE(ring.ok());
  EXPECT_LE(read(*ring).records.size(), 64U);
  patch(path, offsetof(ring::Header, head), 3);
  EXPECT_TRUE(read(*ring).records.empty());
}

TEST_F(DamagedRings, AFileCutWhileItIsReadIsNoFault) {
  const std::string path = ring_of(10);
  auto ring = RingReader::open(path);
  ASSERT_TRUE(ring.ok());
  fs::resize_file(path, 4096 + 100);
  EXPECT_LE(read(*ring).records.size(), 1U);
  fs::resize_file(path, 0);
  EXPECT_TRUE(read(*ring).records.empty());
}

TEST_F(DamagedRings, AnyBytesAreSurvived) {
  const std::string path = ring_of(64);
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const std::string copy = folder_ + "/copy";
    fs::copy_file(path, copy, fs::copy_options::overwrite_existing);
    for (int i = 0; i < 20; ++i) {
      const size_t at = random() % 3 == 0 ? 48 + random() % 280 : 4096 + random() % (64 * 64 + 200);
      patch(copy, at, random() % 2 == 0 ? random() : UINT64_MAX);
    }
    auto ring = RingReader::open(copy);
    if (!ring.ok()) continue;
    const Content c = read(*ring);
    EXPECT_LE(c.records.size(), 64U);
    for (const auto& r : c.records) (void)ring->name(r.name);
  }
}

}  // namespace
}  // namespace firstwait
