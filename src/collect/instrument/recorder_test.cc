#include "collect/instrument/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "firstwait/emit.h"

namespace firstwait {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class RecorderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "recorder.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    fs::create_directory(rings());
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string rings() const { return folder_ + "/rings"; }
  std::string bundle() const { return folder_ + "/bundle"; }
  std::vector<std::string> lines(const std::string& file) const {
    std::ifstream in(bundle() + "/" + file);
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }
  BundleWriter writer(BundleWriter::Limits limits = {}) {
    auto w = BundleWriter::open(bundle(), "a \"job\"", limits);
    EXPECT_TRUE(w.ok());
    return std::move(*w);
  }
  template <typename Body>
  pid_t start(Body body) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::setenv("FIRSTWAIT_DIR", rings().c_str(), 1);
    body();
    ::_exit(0);
  }
  template <typename Body>
  void run(Body body) {
    ::waitpid(start(body), nullptr, 0);
  }
  static void one_step(int number) {
    const int64_t start = firstwait_now();
    firstwait_span(firstwait_name("forward", FIRSTWAIT_FORWARD), start);
    firstwait_step(number, 8);
  }
  std::string folder_;
};

TEST_F(RecorderTest, StepsSettingsAndRanksAreInTheBundle) {
  run([] {
    firstwait_identity(3, 8, 1, FIRSTWAIT_TRAINER);
    firstwait_setting("loader.num_workers", "2");
    for (int i = 0; i < 5; ++i) one_step(i);
  });
  Recorder recorder(rings(), writer());
  ASSERT_TRUE(recorder.poll(true).ok());
  EXPECT_EQ(recorder.steps(), 5U);
  const auto steps = lines("steps.jsonl");
  ASSERT_THAT(steps, SizeIs(5));
  EXPECT_THAT(steps[0], HasSubstr(R"("job":"a \"job\"","rank":3,)"));
  EXPECT_THAT(steps[0], HasSubstr(R"("kind":"warmup")"));
  EXPECT_THAT(steps[1], Not(HasSubstr("kind")));
  EXPECT_THAT(steps[4], HasSubstr(R"("samples":8,"loader":{"workers":2})"));
  EXPECT_THAT(
      lines("settings.jsonl"),
      ElementsAre(HasSubstr(R"("entity":"rank/3","key":"loader.num_workers","value":"2")")));
  EXPECT_THAT(lines("job.yaml"), ::testing::Contains(HasSubstr("rank: 3")));
  EXPECT_THAT(lines("job.yaml"), ::testing::Contains("world_size: 8"));
  EXPECT_THAT(lines("spans.jsonl"), SizeIs(5));
  EXPECT_TRUE(fs::is_empty(rings()));  // read to the end: removed
}

TEST_F(RecorderTest, TrainersThatSayNoRankAreNumbered) {
  for (int i = 0; i < 2; ++i) run([] { one_step(0); });
  Recorder recorder(rings(), writer());
  ASSERT_TRUE(recorder.poll(true).ok());
  EXPECT_EQ(recorder.trainers(), 2U);
  const auto steps = lines("steps.jsonl");
  ASSERT_THAT(steps, SizeIs(2));
  EXPECT_THAT(steps,
              ::testing::UnorderedElementsAre(HasSubstr(R"("rank":0)"), HasSubstr(R"("rank":1)")));
}

TEST_F(RecorderTest, AWorkersWorkIsItsTrainers) {
  run([] {
    firstwait_identity(0, 1, 0, FIRSTWAIT_TRAINER);
    one_step(0);
    const pid_t worker = ::fork();
    if (worker == 0) {
      firstwait_identity(-1, -1, -1, FIRSTWAIT_LOADER);
      const int64_t now = firstwait_now();
      firstwait_span_full(firstwait_name("fetch", FIRSTWAIT_FETCH), now - 5'000'000, now, 0, -1, -1,
                          0);
      ::_exit(0);
    }
    ::waitpid(worker, nullptr, 0);
    one_step(1);
  });
  Recorder recorder(rings(), writer());
  ASSERT_TRUE(recorder.poll(true).ok());
  EXPECT_THAT(lines("steps.jsonl").at(1), HasSubstr(R"("loader":{"fetch":0.005000000)"));
  EXPECT_THAT(lines("spans.jsonl"), ::testing::Contains(HasSubstr(R"("thread":"loader)")));
}

TEST_F(RecorderTest, WhatAKilledTrainerWasDoingIsLeftOpen) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t pid = start([&] {
    one_step(0);
    firstwait_span_full(firstwait_name("all_reduce", FIRSTWAIT_COLLECTIVE), firstwait_now(), 0,
                        firstwait_name("world", 0), 1, 64, 0);
    firstwait_begin(firstwait_name("backward", FIRSTWAIT_BACKWARD));
    (void)!::write(ready[1], "x", 1);
    ::pause();
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  Recorder recorder(rings(), writer());
  ::usleep(100'000);
  ASSERT_TRUE(recorder.poll().ok());
  EXPECT_THAT(lines("steps.jsonl"), SizeIs(1));
  EXPECT_THAT(lines("spans.jsonl"), SizeIs(1));  // the collective may yet be told by its step
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  ASSERT_TRUE(recorder.poll().ok());
  const auto spans = lines("spans.jsonl");
  ASSERT_THAT(spans, SizeIs(3));
  EXPECT_THAT(spans[1], HasSubstr(R"("op":"all_reduce")"));
  EXPECT_THAT(spans[2], HasSubstr(R"("op":"backward")"));
  EXPECT_THAT(spans[2], HasSubstr(R"("open":true)"));
}

TEST_F(RecorderTest, ACollectiveIsToldOnceByItsStep) {
  run([] {
    const int64_t start = firstwait_now();
    firstwait_span_full(firstwait_name("all_reduce", FIRSTWAIT_COLLECTIVE), start, start + 1000,
                        firstwait_name("world", 0), 7, 64, 0);
    firstwait_step(0, -1);
  });
  Recorder recorder(rings(), writer());
  ASSERT_TRUE(recorder.poll(true).ok());
  EXPECT_THAT(lines("steps.jsonl").at(0),
              HasSubstr(R"("group":"world","op":"all_reduce","seq":7,"bytes":64)"));
  EXPECT_FALSE(fs::exists(bundle() + "/spans.jsonl"));
}

TEST_F(RecorderTest, WhatAHookWatchesTookNoTimeUnlessItSaysSo) {
  run([] {
    firstwait_setting("firstwait.hooks", "copies,model");
    one_step(0);
  });
  Recorder recorder(rings(), writer());
  ASSERT_TRUE(recorder.poll(true).ok());
  const std::string step = lines("steps.jsonl").at(0);
  EXPECT_THAT(step, HasSubstr(R"("h2d":0.000000000)"));
  EXPECT_THAT(step, HasSubstr(R"("evaluation":0.000000000)"));
  EXPECT_THAT(step, Not(HasSubstr("optimizer")));
}

TEST_F(RecorderTest, ACheckpointIsOneEventHoweverOftenTheRingIsRead) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t pid = start([&] {
    one_step(0);
    firstwait_span_full(firstwait_name("torch.save", FIRSTWAIT_CHECKPOINT), firstwait_now(), 0, 0,
                        0, 77, 0);
    (void)!::write(ready[1], "x", 1);
    ::pause();
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  Recorder recorder(rings(), writer());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(recorder.poll().ok());
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  ASSERT_TRUE(recorder.poll().ok());
  EXPECT_THAT(lines("events.jsonl"), ElementsAre(HasSubstr(R"("bytes":77)")));
}

TEST_F(RecorderTest, SpansSayTheirStep) {
  run([] {
    for (int i = 0; i < 3; ++i) one_step(10 + i);
  });
  Recorder recorder(rings(), writer());
  ASSERT_TRUE(recorder.poll(true).ok());
  EXPECT_THAT(lines("spans.jsonl"),
              ElementsAre(HasSubstr(R"("step":10,)"), HasSubstr(R"("step":11,)"),
                          HasSubstr(R"("step":12,)")));
}

TEST_F(RecorderTest, OldSpansMakeRoom) {
  run([] {
    firstwait_open(1 << 14);
    const auto op = firstwait_name("work", FIRSTWAIT_HOST);
    for (int i = 0; i < 2000; ++i) firstwait_span_full(op, firstwait_now(), 0, 0, i, -1, 0);
    firstwait_step(0, -1);
  });
  Recorder recorder(rings(), writer({.span_bytes = 100'000}));
  ASSERT_TRUE(recorder.poll(true).ok());
  const auto size =
      fs::file_size(bundle() + "/spans.jsonl") + fs::file_size(bundle() + "/spans-before.jsonl");
  EXPECT_LE(size, 100'000U);
  EXPECT_GE(size, 40'000U);
}

TEST_F(RecorderTest, FilesThatAreNoRingsAreCountedOnce) {
  std::ofstream(rings() + "/1-a.ring") << "nonsense";
  fs::create_symlink("/etc/passwd", rings() + "/1-b.ring");
  fs::create_directory(rings() + "/1-c.ring");
  Recorder recorder(rings(), writer());
  ASSERT_TRUE(recorder.poll().ok());
  ASSERT_TRUE(recorder.poll(true).ok());
  uint64_t count = 0;
  const Health health = recorder.health();
  for (const auto& entry : health.entries()) count += entry.count;
  EXPECT_EQ(count, 3U);
}

TEST_F(RecorderTest, AFullDiskIsAnErrorOnce) {
  if (!fs::exists("/dev/full")) GTEST_SKIP();
  run([] { one_step(0); });
  Recorder recorder(rings(), writer());
  fs::create_symlink("/dev/full", bundle() + "/steps.jsonl");
  EXPECT_FALSE(recorder.poll(true).ok());
}

TEST_F(RecorderTest, AFolderThatCannotBeMadeIsAnError) {
  EXPECT_FALSE(BundleWriter::open("/proc/nowhere/bundle", "job", {}).ok());
}

// The clock was set back by an hour since the run began; a worker that starts now is on the run's.
TEST_F(RecorderTest, AWallClockThatWasSetMovesNothing) {
  ClockPair clock = ClockPair::now();
  clock.epoch += Ns{3600} * 1'000'000'000;
  Recorder recorder(rings(), writer(), clock);
  run([] { one_step(0); });
  ASSERT_TRUE(recorder.poll(true).ok());
  const auto steps = lines("steps.jsonl");
  ASSERT_THAT(steps, SizeIs(1));
  const double start = std::stod(steps[0].substr(steps[0].find("\"start\":") + 8));
  EXPECT_NEAR(start, static_cast<double>(clock.epoch) * 1e-9, 60);
}

TEST_F(RecorderTest, CountersBecomeSamplesOfTheBundle) {
  run([] {
    firstwait_identity(1, 2, 1, FIRSTWAIT_TRAINER);
    const firstwait_op loss = firstwait_name("loss \"a\"", FIRSTWAIT_UNEXPLAINED);
    firstwait_counter(loss, 0.25);
    one_step(0);
    firstwait_counter(loss, -1e-300);
    firstwait_counter(loss, 0.0 / 0.0);
  });
  Recorder recorder(rings(), writer());
  ASSERT_TRUE(recorder.poll(true).ok());
  const auto samples = lines("metrics.om");
  ASSERT_THAT(samples, SizeIs(3));
  EXPECT_EQ(samples[0], "# TYPE firstwait_program_value gauge");
  EXPECT_THAT(samples[1], HasSubstr("name=\"loss \\\"a\\\"\",rank=\"1\"} 0.25 "));
  EXPECT_THAT(samples[2], HasSubstr("} -1e-300 "));
}

}  // namespace
}  // namespace firstwait
