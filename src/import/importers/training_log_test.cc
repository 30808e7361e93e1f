#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/testing/test_data.h"
#include "import/import.h"
#include "import/logs/test_feed.h"

namespace firstwait {
extern const Importer importer_training_log;
namespace {

constexpr Ns kMs = 1'000'000, kS = 1'000'000'000;

Evidence read(std::string_view text, const ImportOptions& options = {}) {
  Evidence out;
  feed(importer_training_log, text, out, SIZE_MAX, options);
  return out;
}
int score(std::string_view text, const ImportOptions& options = {}) {
  return importer_training_log.sniff({text, "x", &options});
}

constexpr std::string_view kMegatron =
    "time (ms) | load-checkpoint: 0.35\n"
    " iteration       10/    1000 | consumed samples:           40 | elapsed time per iteration "
    "(ms): 2152.2 | learning "
    "rate: 0.000E+00 | global batch size:     4 | loss scale: 8388608.0 | number of skipped "
    "iterations:  10 |\n"
    "time (ms) | forward-compute: 306.62 | forward-recv: 527.58 | backward-compute: 575.17 | "
    "backward-send: 62.89 | "
    "backward-params-all-reduce: 26.70 | optimizer-copy-to-main-grad: 11.07 | optimizer: 94.69 | "
    "batch-generator: 2.97\n"
    " iteration       20/    1000 | consumed samples:           80 | elapsed time per iteration "
    "(ms): 1354.9 | learning "
    "rate: 3.750E-05 | global batch size:     4 | lm loss: 1.203115E+01 |\n"
    " validation loss at iteration 20 | lm loss value: 7.487306E+00 | lm loss PPL: 1.785236E+03 | "
    "\n"
    " iteration       30/    1000 | consumed samples:          120 | elapsed time per iteration "
    "(ms): 1376.1 | global "
    "batch size:     4 | lm loss: 2.247505E+01 |\n"
    " iteration       40/    1000 | consumed samples:          160 | elapsed time per iteration "
    "(ms): 1376.2 |\n"
    " iteration       50/    1000 | consumed samples:          200 | elapsed time per iteration "
    "(ms): 1376.3 |\n";

TEST(TrainingLog, MegatronRowsAreMeansOverTheLoggingInterval) {
  const Evidence e = read(kMegatron);
  ASSERT_EQ(e.steps.size(), 5u);
  EXPECT_EQ(e.steps.step[0], 10);
  EXPECT_EQ(e.steps.duration[0], 2152200000);
  EXPECT_EQ(e.steps.samples[0], 4);
  EXPECT_DOUBLE_EQ(e.steps.loss[1], 12.03115);
  EXPECT_EQ(setting(e, "job/x", "log.interval_steps"), "10");
  EXPECT_EQ(e.notes.at("x.log"), "5 steps of 1 rank; each a mean over 10 steps");
}

TEST(TrainingLog, MegatronTimersBecomeExclusivePhases) {
  const Evidence e = read(kMegatron);
  EXPECT_EQ(e.steps.phase(0, Phase::input_wait), 2970000);
  EXPECT_EQ(e.steps.phase(0, Phase::forward),
            303650000);  // the batch is fetched inside the forward timer
  EXPECT_EQ(e.steps.phase(0, Phase::p2p), 590470000);
  EXPECT_EQ(e.steps.phase(0, Phase::collective), 26700000);
  EXPECT_EQ(e.steps.phase(0, Phase::optimizer), 94690000);
  EXPECT_EQ(e.steps.phase(1, Phase::forward), kNoDuration);
}

TEST(TrainingLog, TheStepThatHoldsAnEvaluationIsNotATrainingStep) {
  const Evidence e = read(kMegatron);
  ASSERT_EQ(e.events.size(), 1u);
  EXPECT_EQ(e.events[0].kind, "evaluation");
  EXPECT_EQ(e.events[0].attribute("step"), "20");
  EXPECT_EQ(e.steps.kind[1], StepKind::train);
  EXPECT_EQ(e.steps.kind[2], StepKind::evaluation);
  EXPECT_EQ(e.steps.kind[3], StepKind::train);
}

TEST(TrainingLog, MegatronTimerTableTakesTheSlowestComputeAndTheFastestCommunication) {
  const Evidence e = read(
      " [2024-05-08 10:10:10] iteration       10/     100 | elapsed time per iteration (ms): "
      "1200.0 |\n"
      "(min, max) time across ranks (ms):\n"
      "    forward-backward ...............................: (1023.01, 1023.10)\n"
      "    forward-compute ................................: (300.00, 340.00)\n"
      "    batch-generator ................................: (1.00, 2.00)\n"
      "    all-grads-sync .................................: (20.00, 90.00)\n"
      "    optimizer ......................................: (7.00, 8.00)\n"
      " [2024-05-08 10:10:22] iteration       20/     100 | elapsed time per iteration (ms): "
      "1100.0 |\n");
  ASSERT_EQ(e.steps.size(), 2u);
  EXPECT_EQ(e.steps.phase(0, Phase::forward), 338 * kMs);
  EXPECT_EQ(e.steps.phase(0, Phase::collective), 20 * kMs);
  EXPECT_EQ(e.steps.duration[1], 1100 * kMs);
  EXPECT_EQ(e.steps.start[0], 1715163010 * kS - 1200 * kMs);
}

TEST(TrainingLog, TimersThatExceedTheStepAreNotUsed) {
  const Evidence e = read(
      " iteration 10/ 100 | elapsed time per iteration (ms): 100.0 |\n"
      "time (ms) | forward-compute: 80.0 | backward-compute: 70.0\n");
  ASSERT_EQ(e.steps.size(), 1u);
  EXPECT_EQ(e.steps.phase(0, Phase::forward), kNoDuration);
  EXPECT_EQ(health_count(e, "phases_exceed_step"), 1u);
}

TEST(TrainingLog, NanogptDurationsAreDifferencesOfTrainTime) {
  const Evidence e = read(
      "step:0/1695 val_loss:10.8258 train_time:0ms step_avg:nanms\n"
      "step:1/1695 train_time:153ms step_avg:153.49ms\n"
      "step:2/1695 train_time:179ms step_avg:89.47ms\n"
      "step:3/1695 train_loss:9.5 train_time:250ms step_avg:83.25ms\n"
      "step:4/1695 train_time:77ms step_avg:nanms\n"
      "step:5/1695 train_time:147ms step_avg:nanms\n");
  ASSERT_EQ(e.steps.size(), 4u);
  EXPECT_EQ(e.steps.duration[0], 153 * kMs);
  EXPECT_EQ(e.steps.duration[1], 26 * kMs);
  EXPECT_EQ(e.steps.duration[2], 71 * kMs);
  EXPECT_EQ(e.steps.step[3], 5);  // the timer went back at step 4: its duration is unknown
  EXPECT_EQ(e.steps.duration[3], 70 * kMs);
  EXPECT_EQ(health_count(e, "timer_reset"), 1u);
  EXPECT_EQ(e.events.size(), 1u);
}

TEST(TrainingLog, ReadsTheUsualOneLineForms) {
  struct Case {
    std::string_view line;
    int32_t step;
    Ns duration;
  };
  for (const Case& c : {
           Case{"iter 100: loss 2.3000, time 35.20ms, mfu 12.34%\n", 100, 35'200'000},
           Case{"step   10 | loss: 6.5 | lr 1.0e-4 | norm: 1.2 | dt: 340.5ms | tok/sec: 1500\n", 10,
                340'500'000},
           Case{"step 7/19560 | loss 11.01 (+nanz)| norm 15.3 (+nanz)| lr 8.57e-07 | 1234.50 ms | "
                "45.0% bf16 MFU\n",
                7, 1'234'500'000},
           Case{"Epoch: [0][10/5005]\tTime  0.312 ( 0.451)\tData  0.001 ( 0.023)\tLoss 6.9 (7.0)\n",
                10, 312'000'000},
           Case{"Epoch: [0]  [ 10/5005]  eta: 0:26:27  lr: 0.1  loss: 6.9 (7.0)  time: 0.3171  "
                "data: 0.0012\n",
                10, 317'100'000},
           Case{"2024-05-08 10:10:10,123 - mmengine - INFO - Epoch(train)  [1][  50/ 500]  lr: "
                "1e-3  eta: 0:10:00  time: "
                "0.3521  data_time: 0.0123  memory: 5000  loss: 2.3\n",
                50, 352'100'000},
           Case{"[05/08 10:10:10 d2.utils.events]:  eta: 1:00:00  iter: 19  total_loss: 2.3  time: "
                "0.3521  data_time: "
                "0.0123  lr: 0.01\n",
                19, 352'100'000},
           Case{"Train: 0 [  50/1251 (  4%)]  Loss: 6.95 (6.95)  Time: 0.352s,  727.2/s  (0.4s, "
                "640/s)  LR: 1e-5\n",
                50, 352'000'000},
           Case{"{\"step\": 12, \"loss\": 2.3, \"step_time\": 0.35, \"lr\": 1e-5}\n", 12,
                350'000'000},
           Case{"\x1b[31m[rank3]:\x1b[0m global_step=12 micro_step=48 iter_time_ms=20.5\n", 12,
                20'500'000},
           Case{"| epoch 001:  10 / 1000 loss=4.1, wps=5000, ups=2.5, num_updates=10\n", 10,
                400'000'000},
       }) {
    const Evidence e = read(c.line);
    ASSERT_EQ(e.steps.size(), 1u) << c.line;
    EXPECT_EQ(e.steps.step[0], c.step) << c.line;
    EXPECT_EQ(e.steps.duration[0], c.duration) << c.line;
  }
}

TEST(TrainingLog, LoadingTimeBesideTheStepTimeIsInputWait) {
  const Evidence e =
      read("Epoch: [0][10/5005]\tTime  0.312 ( 0.451)\tData  0.201 ( 0.023)\tLoss 6.9 (7.0)\n");
  ASSERT_EQ(e.steps.size(), 1u);
  EXPECT_EQ(e.steps.phase(0, Phase::input_wait), 201 * kMs);
  EXPECT_EQ(health_count(e, "unit_assumed"), 1u);
}

TEST(TrainingLog, TimestampsGiveDurationsWhenNothingElseDoes) {
  const Evidence e = read(
      "[2024-05-08 10:10:10,100] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, "
      "lr=[1e-05]\n"
      "[2024-05-08 10:10:10,600] [INFO] [logging.py:96:log_dist] [Rank 0] step=11, skipped=0, "
      "lr=[1e-05]\n"
      "[2024-05-08 10:10:11,300] [INFO] [logging.py:96:log_dist] [Rank 0] step=12, skipped=0, "
      "lr=[1e-05]\n");
  ASSERT_EQ(e.steps.size(), 2u);
  EXPECT_EQ(e.steps.duration[0], 500 * kMs);
  EXPECT_EQ(e.steps.duration[1], 700 * kMs);
  EXPECT_EQ(e.steps.start[1], 1715163010 * kS + 600 * kMs);
  EXPECT_EQ(health_count(e, "first_step_untimed"), 1u);
}

TEST(TrainingLog, DeepSpeedTimersArePhasesOfTheirStep) {
  const Evidence e = read(
      "[2024-05-08 10:10:10,100] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0\n"
      "[2024-05-08 10:10:10,101] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd: 100.0 | "
      "bwd: 200.0 | "
      "bwd_inner: 150.0 | bwd_allreduce: 49.0 | step: 30.0\n"
      "[2024-05-08 10:10:10,600] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd: 100.0 | "
      "bwd: 200.0 | "
      "bwd_inner: 150.0 | bwd_allreduce: 49.0 | step: 30.0\n"
      "[2024-05-08 10:10:11,100] [INFO] [logging.py:96:log_dist] [Rank 0] step=12, skipped=0\n"
      "[2024-05-08 10:10:11,101] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd: 110.0 | "
      "bwd: 200.0 | "
      "bwd_inner: 150.0 | bwd_allreduce: 49.0 | step: 30.0\n");
  ASSERT_EQ(e.steps.size(), 2u);
  EXPECT_EQ(e.steps.step[0], 11);
  EXPECT_EQ(e.steps.duration[0], 500 * kMs);
  EXPECT_EQ(e.steps.phase(0, Phase::backward), 150 * kMs);
  EXPECT_EQ(e.steps.phase(0, Phase::collective), 49 * kMs);
  EXPECT_EQ(e.steps.step[1], 12);
  EXPECT_EQ(e.steps.phase(1, Phase::forward), 110 * kMs);
}

TEST(TrainingLog, AClockOfWholeSecondsGivesMeansOverTenSecondsOrMore) {
  std::string text;
  for (int i = 0; i <= 60; ++i)
    text += fmt::format("2024-05-08 10:10:{:02} step: {} loss: 2.0\n",
                        i % 60 == 0 && i > 0 ? 59 : i, i * 2);
  const Evidence e = read(text);
  ASSERT_EQ(e.steps.size(), 5u);
  EXPECT_EQ(e.steps.step[0], 20);
  EXPECT_EQ(e.steps.duration[0], 500 * kMs);
  EXPECT_EQ(setting(e, "job/x", "log.interval_steps"), "20");
}

TEST(TrainingLog, ProgressBarsAreReadThroughCarriageReturns) {
  std::string text;
  for (int i = 1; i <= 100; ++i)
    text += fmt::format("\r {:2}%|█▏        | {}/100 [{:02}:{:02}<01:50,  1.22s/it]", i, i,
                        i * 2 / 60, i * 2 % 60);
  text +=
      "\n{'train_runtime': 200.0, 'train_samples_per_second': 4.0, 'train_steps_per_second': 0.5, "
      "'epoch': 1.0}\n";
  const Evidence e = read(text);
  ASSERT_GE(e.steps.size(), 15u);
  for (size_t i = 0; i < e.steps.size(); ++i) EXPECT_EQ(e.steps.duration[i], 2 * kS);
  ASSERT_EQ(e.events.size(), 1u);
  EXPECT_EQ(e.events[0].kind, "job_end");
  EXPECT_EQ(e.events[0].attribute("train_runtime"), "200.0");
  EXPECT_GE(score(text), 45);
}

TEST(TrainingLog, AStepTimeBehindAProgressBarIsTaken) {
  const Evidence e = read(
      "Epoch 0: :   1%|          | 1/100 [00:05<00:45, v_num=0, reduced_train_loss=2.0, "
      "global_step=0.000, "
      "train_step_timing in s=0.512]\r"
      "Epoch 0: :   1%|          | 1/100 [00:05<00:45, v_num=0, reduced_train_loss=2.0, "
      "global_step=0.000, "
      "train_step_timing in s=0.512]\r"
      "Epoch 0: :   2%|          | 2/100 [00:05<00:45, v_num=0, reduced_train_loss=1.9, "
      "global_step=1.000, "
      "train_step_timing in s=0.498]\n");
  ASSERT_EQ(e.steps.size(), 2u);
  EXPECT_EQ(e.steps.step[1], 1);
  EXPECT_EQ(e.steps.duration[1], 498 * kMs);
  EXPECT_DOUBLE_EQ(e.steps.loss[1], 1.9);
}

TEST(TrainingLog, EpochCountersAreLaidEndToEnd) {
  const Evidence e = read(
      "Epoch: [0][1/2] Time 0.3 (0.3)\nEpoch: [0][2/2] Time 0.3 (0.3)\n"
      "Epoch: [1][1/2] Time 0.4 (0.3)\nEpoch: [1][2/2] Time 0.5 (0.3)\n");
  ASSERT_EQ(e.steps.size(), 4u);
  EXPECT_EQ(e.steps.step[2], 3);
  EXPECT_EQ(e.steps.step[3], 4);
  EXPECT_EQ(e.steps.epoch[3], 1);
  EXPECT_EQ(health_count(e, "restarts"), 0u);
}

TEST(TrainingLog, RanksComeFromPrefixes) {
  for (const std::string_view prefix :
       {"[default{}]:", "{}: ", " {}: ", "[rank{}]: ", "[1,{}]<stdout>: ", "Rank {}: "}) {
    std::string text;
    for (int step = 1; step <= 3; ++step)
      for (int rank = 0; rank < 4; ++rank)
        text += fmt::format(fmt::runtime(prefix), rank) +
                fmt::format("step {} step_time {}ms\n", step, 10 + rank);
    const Evidence e = read(text);
    ASSERT_EQ(e.steps.size(), 12u) << prefix;
    EXPECT_EQ(e.ranks.size(), 4u) << prefix;
    EXPECT_EQ(e.steps.rank[3], 3) << prefix;
    EXPECT_EQ(e.steps.duration[3], 13 * kMs) << prefix;
  }
}

TEST(TrainingLog, ARestartKeepsTheLastAttempt) {
  const Evidence e = read(
      "step 1 step_time 10ms\nstep 2 step_time 11ms\nstep 3 step_time 12ms\n"
      "step 2 step_time 21ms\nstep 3 step_time 22ms\nstep 4 step_time 23ms\n");
  ASSERT_EQ(e.steps.size(), 4u);
  EXPECT_EQ(e.steps.duration[1], 21 * kMs);
  ASSERT_EQ(e.events.size(), 1u);
  EXPECT_EQ(e.events[0].kind, "restart");
  EXPECT_EQ(e.events[0].attribute("from_step"), "3");
  EXPECT_EQ(health_count(e, "restarts"), 1u);
  EXPECT_EQ(health_count(e, "repeated_steps"), 2u);
}

TEST(TrainingLog, StepsWithoutAnyTimeGiveNoRowsButARemedy) {
  const Evidence e = read("step 1 loss 2.0\nstep 2 loss 1.9\n{'loss': 1.8, 'epoch': 0.1}\n");
  EXPECT_EQ(e.steps.size(), 0u);
  EXPECT_EQ(health_count(e, "no_step_times"), 2u);
}

TEST(TrainingLog, MllogBlocksBetweenEvaluationsAreRows) {
  std::string text;
  const auto at = [&](int64_t ms, std::string_view key, double epoch) {
    text += fmt::format(
        ":::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"X\", \"key\": \"{}\", "
        "\"value\": null, \"metadata\": {{\"epoch_num\": {}}}}}\n",
        ms, key, epoch);
  };
  at(1000000, "run_start", 0);
  at(1000001, "epoch_start", 0);
  for (int i = 0; i < 6; ++i) {
    const int64_t block = i < 3 ? 59'500 : 135'500;
    const int64_t begin = 1000001 + i * 200'000;
    at(begin + block, "eval_start", 0.05 * (i + 1));
    at(1000001 + (i + 1) * 200'000, "eval_stop", 0.05 * (i + 1));
  }
  at(2200002, "run_stop", 0.3);
  at(2200003, "epoch_stop", 0.3);
  const Evidence e = read(text);
  ASSERT_EQ(e.steps.size(), 6u);
  EXPECT_EQ(e.steps.step[3], 4);
  EXPECT_EQ(e.steps.duration[2], 59'500 * kMs);
  EXPECT_EQ(e.steps.duration[3], 135'500 * kMs);
  EXPECT_EQ(std::count_if(e.events.begin(), e.events.end(),
                          [](const Event& v) { return v.kind == "evaluation"; }),
            6);
  EXPECT_EQ(score(text), 95);
}

TEST(TrainingLog, TheUsersPatternNamesTheFields) {
  ImportOptions options;
  options.log_pattern = R"(^\w+ r(?<rank>\d+) it#(?<step>\d+) took (?<duration_us>[\d.]+))";
  const std::string text =
      "foo r2 it#7 took 1500.5 units\nfoo r2 it#8 took 1600 units\nnothing here\n";
  const Evidence e = read(text, options);
  ASSERT_EQ(e.steps.size(), 2u);
  EXPECT_EQ(e.steps.rank[0], 2);
  EXPECT_EQ(e.steps.step[0], 7);
  EXPECT_EQ(e.steps.duration[0], 1500500);
  EXPECT_EQ(score(text, options), 96);
  EXPECT_EQ(score(text), 0);
}

TEST(TrainingLog, AHostileUserPatternGivesUpInsteadOfHanging) {
  ImportOptions options;
  options.log_pattern = R"((?<step>\d+)(a+)+$(?<duration>\d))";
  const Evidence e = read("1" + std::string(5000, 'a') + "!\n", options);
  EXPECT_EQ(e.steps.size(), 0u);
  EXPECT_EQ(health_count(e, "pattern_too_slow") + health_count(e, "pattern_matched_nothing"), 2u);
}

TEST(TrainingLog, ABadUserPatternIsNamedAndTheLogStillRead) {
  ImportOptions options;
  options.log_pattern = "(";
  const Evidence e = read("step 1 step_time 10ms\n", options);
  EXPECT_EQ(health_count(e, "bad_log_pattern"), 1u);
  EXPECT_EQ(e.steps.size(), 1u);
}

TEST(TrainingLog, ALineCutInANumberIsNotUsed) {
  const Evidence e = read("step 1 step_time 100ms\nstep 2 step_time 10");
  EXPECT_EQ(e.steps.size(), 1u);
  EXPECT_EQ(health_count(e, "unterminated_line"), 1u);
}

TEST(TrainingLog, HostileNumbersAreCountedNotComputedWith) {
  const Evidence e = read(
      "step 1 step_time 99999999999999999999s\nstep 99999999999 step_time 1s\n"
      "step 3 step_time 9000000000s\nstep 4 train_time 9223372036s\nstep 5 train_time 1s\n"
      "step 6 step_time -5s\nstep 7 step_time 0s\nstep 8 step_time 1s\n");
  ASSERT_EQ(e.steps.size(), 1u);
  EXPECT_EQ(e.steps.step[0], 8);
  EXPECT_GE(health_count(e, "bad_number"), 3u);
}

TEST(TrainingLog, AStepTimeThatIsNoTimeIsCountedWhereTheClockTakesItsPlace) {
  for (const std::string_view bad : {"nan", "-1000.0", "inf"}) {
    std::string log;
    for (int i = 0; i < 6; ++i)
      log += fmt::format(
          " [2025-11-30 10:00:{:02}.000] iteration {:8}/ 100 | consumed samples: 5 | elapsed time "
          "per iteration (ms): {} | lm loss: 2.3E+00 | grad norm: nan |\n",
          i, i, i < 3 ? bad : "1000.0");
    EXPECT_EQ(health_count(read(log), "bad_number"), 3u) << bad;
  }
  // Other values may be no numbers.
  const Evidence e = read("step 1 step_time 1s loss nan\nstep 2 loss nan\nstep 3 step_time 1s\n");
  EXPECT_EQ(health_count(e, "bad_number"), 0u);
}

TEST(TrainingLog, RowsDoNotDependOnChunksOrLineEnds) {
  std::string crlf;
  for (const char c : kMegatron) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_TRUE(same_for_all_chunks(importer_training_log, kMegatron));
  EXPECT_TRUE(same_for_all_chunks(importer_training_log, crlf));
  EXPECT_EQ(digest(read(crlf)), digest(read(kMegatron)));
  feed_damaged(importer_training_log, kMegatron);
}

TEST(TrainingLog, DoesNotTakeOtherFiles) {
  EXPECT_EQ(score(""), 0);
  EXPECT_EQ(score("{\"traceEvents\": [\n{\"name\": \"step 1\", \"dur\": 5}"), 0);
  EXPECT_EQ(score("step,rank,duration\n1,0,0.5\n2,0,0.5\n"), 0);
  EXPECT_EQ(score("# HELP node_load1 1m load average.\n# TYPE node_load1 gauge\nnode_load1 0.5\n"),
            0);
  EXPECT_LE(score("{\"rank\":3,\"step\":120,\"start\":1764500000.1,\"duration\":0.482}\n{\"rank\":"
                  "3,\"step\":121,"
                  "\"start\":1764500000.6,\"duration\":0.482}\n"),
            50);
}

TEST(TrainingLog, FindsTheOnsetBlockOfARealFailSlowRun) {
  const auto path = shared_data("logs/mlperf/failslow_dlrm_result_0.txt.gz");
  if (!path) GTEST_SKIP() << "no shared data";
  Evidence e;
  ASSERT_TRUE(import_inputs({*path}, {}, e));
  ASSERT_EQ(e.steps.size(), 15u);
  EXPECT_EQ(e.steps.duration[2], 62'100 * kMs);
  EXPECT_EQ(e.steps.step[3], 4);
  EXPECT_EQ(e.steps.duration[3], 135'501 * kMs);
}

TEST(TrainingLog, ALineOfOnlyAFormFeedIsNotRead) {
  const ImportOptions options;
  EXPECT_EQ(importer_training_log.sniff({"\n\f", "x", &options}), 0);
}

}  // namespace
}  // namespace firstwait
