#include <gtest/gtest.h>

#include "import/logs/test_feed.h"

namespace firstwait {
extern const Importer importer_trainer_state;
namespace {

constexpr std::string_view kPlain =
    R"({"best_metric": null, "epoch": 1.0, "global_step": 30, "log_history": [{"epoch": 0.3, "loss": 2.5, "step": 10},
      {"epoch": 0.6, "loss": 2.4, "step": 20}, {"epoch": 0.6, "eval_loss": 2.0, "eval_runtime": 3.5, "step": 20},
      {"epoch": 1.0, "step": 30, "train_runtime": 60.0, "train_steps_per_second": 0.5}], "max_steps": 30})";
constexpr std::string_view kTimed =
    R"({"log_history": [{"step": 10, "loss": 2.5, "step_time": 0.5}, {"step": 20, "loss": 2.4, "step_time": 0.75}]})";

Evidence read(std::string_view text) {
  Evidence out;
  feed(importer_trainer_state, text, out);
  return out;
}

TEST(TrainerState, StepsWithoutTimesGiveEventsAndARemedy) {
  const Evidence e = read(kPlain);
  EXPECT_EQ(e.steps.size(), 0u);
  EXPECT_EQ(health_count(e, "no_step_times"), 2u);
  ASSERT_EQ(e.events.size(), 2u);
  EXPECT_EQ(e.events[0].attribute("duration_s"), "3.500000");
  EXPECT_EQ(e.events[1].kind, "job_end");
  EXPECT_EQ(e.events[1].attribute("train_runtime"), "60.0");
}

TEST(TrainerState, LoggedStepTimesBecomeRows) {
  const Evidence e = read(kTimed);
  ASSERT_EQ(e.steps.size(), 2u);
  EXPECT_EQ(e.steps.step[1], 20);
  EXPECT_EQ(e.steps.duration[1], 750'000'000);
}

TEST(TrainerState, DamageIsCounted) {
  EXPECT_TRUE(same_for_all_chunks(importer_trainer_state, kPlain));
  feed_damaged(importer_trainer_state, kPlain);
  EXPECT_EQ(health_count(read(kPlain.substr(0, 100)), "bad_document"), 1u);
}

TEST(Sniffs, NoImporterStealsAnothersFile) {
  struct Case {
    std::string_view text, importer;
  };
  for (const Case& c : {
           Case{kPlain, "trainer_state"},
           Case{"step:1/9 train_time:5ms\nstep:2/9 train_time:9ms\n", "training_log"},
           Case{" iteration 10/ 100 | elapsed time per iteration (ms): 1.0 |\n iteration 20/ 100 | "
                "elapsed time per "
                "iteration (ms): 1.0 |\n",
                "training_log"},
           Case{":::MLLOG {\"time_ms\": 1, \"key\": \"run_start\"}\n", "training_log"},
           Case{"{\"step\": 1, \"loss\": 2, \"step_time\": 0.1}\n{\"step\": 2, \"loss\": 2, "
                "\"step_time\": 0.1}\n",
                "training_log"},
           Case{"{\"rank\":3,\"step\":120,\"start\":1.5,\"duration\":0.4}\n{\"rank\":3,\"step\":"
                "121,\"start\":2.5,\"duration\":0.4}\n",
                "steps"},
           Case{"step,rank,step_time_ms\n1,0,2\n2,0,2\n", "worker_csv"},
           Case{",worker,gpu,time,batch_time_norm\n0,0,25,1,476\n", "worker_csv"},
           Case{"h:1:2 [0] NCCL INFO Using network IB\nh:1:2 [0] NCCL INFO Connected all rings\n",
                "nccl_log"},
           Case{"{\"num_accelerators\": 2, \"hostname\": \"h\", \"metric\": "
                "{\"train_au_percentage\": [99.0]}}",
                "dlio"},
           Case{"{\"entity\": \"job/x\", \"kind\": \"checkpoint\", \"start\": 1.0}\n", "events"},
       }) {
    int best = 0;
    std::string_view winner;
    for (const auto& entry : importers()) {
      const int score = entry.module->sniff({c.text, "x"});
      if (score > best) {
        best = score;
        winner = entry.module->name;
      }
    }
    EXPECT_EQ(winner, c.importer) << c.text;
  }
}

}  // namespace
}  // namespace firstwait
