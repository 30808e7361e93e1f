// The published results of the method's artifact, and readings of it that must miss them.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "attribute/what_if.h"
#include "attribute/whatif/replay.h"
#include "attribute/whatif/results.h"
#include "base/testing/test_data.h"
#include "import/import.h"

namespace firstwait {
namespace {

struct Golden {
  std::string file;
  double base_over_nodelay, nodelay, ideal, slowdown;
  std::vector<double> by_dp, by_stage;
  std::map<std::string, double> by_op;
  int top_dp, top_stage;
  double mw_removal, mw_addback, ms_removal, ms_addback;
};

const Golden kAr{"whatif/trace-AR.parquet",
                 1.0067506609,
                 46.33637259691022,
                 23.484700209738318,
                 1.9730450967262543,
                 {1.9730444100764113, 1.0108912860378452, 1.0111514645495234, 1.0111429488597723},
                 {1.9791886375936654, 0.9971124940932459, 0.9956041132082933, 1.0023690791892135},
                 {{"forward-compute", 1.3688857250958648},
                  {"backward-compute", 1.580506213380076},
                  {"forward-pp-comm", 1.00107},
                  {"backward-pp-comm", 1.00092},
                  {"params-all-gather", 1.0054763177},
                  {"grads-reduce-scatter", 1.0107821191609507},
                  {"layernorm-grads-all-reduce", 1.00005},
                  {"embedding-grads-all-reduce", 1.00515},
                  {"optimizer-clip-main-grad", 1.00029},
                  {"optimizer", 1.00110},
                  {"gc", 1.0}},
                 0,
                 0,
                 1.0017012777290497,
                 1.0063130210904254,
                 -0.00121196404622606,
                 0.002434706466518464};
const Golden kSt{"whatif/trace-ST.parquet",
                 1.01922,
                 2.172696813310722,
                 1.843295824372035,
                 1.17870,
                 {1.17308, 1.17787},
                 {0.99805, 0.98306, 0.98249, 1.23226},
                 {{"forward-compute", 1.08750},
                  {"backward-compute", 1.07416},
                  {"forward-pp-comm", 0.99986},
                  {"backward-pp-comm", 0.99999},
                  {"params-all-gather", 1.00113},
                  {"grads-reduce-scatter", 1.00267},
                  {"layernorm-grads-all-reduce", 1.00000},
                  {"embedding-grads-all-reduce", 1.00955},
                  {"optimizer-clip-main-grad", 1.00235},
                  {"optimizer", 1.00148},
                  {"gc", 1.00000}},
                 1,
                 3,
                 0.031404269124045224,
                 1.297930900837732,
                 1.2193563788811714,
                 1.2996816802378568};

constexpr double kRelative = 1e-5;

std::optional<Evidence> read(const std::string& name) {
  const auto file = shared_data(name);
  if (!file) return std::nullopt;
  Evidence e;
  EXPECT_TRUE(import_inputs({*file}, {}, e).ok());
  return e;
}

void expect_close(double value, double golden, const std::string& what) {
  EXPECT_LE(std::fabs(value / golden - 1), kRelative)
      << what << " " << value << " against " << golden;
}

void check(const WhatIf& w, const Golden& g) {
  ASSERT_TRUE(w.refused.empty()) << w.refused;
  expect_close(w.nodelay_s, g.nodelay, "T_nodelay");
  expect_close(w.ideal_s, g.ideal, "T_ideal");
  expect_close(1 + w.replay_error, g.base_over_nodelay, "T_base / T_nodelay");
  expect_close(w.slowdown, g.slowdown, "S");
  ASSERT_EQ(w.by_dp_rank.size(), g.by_dp.size());
  ASSERT_EQ(w.by_stage.size(), g.by_stage.size());
  for (size_t i = 0; i < g.by_dp.size(); ++i) expect_close(w.by_dp_rank[i], g.by_dp[i], "dp rank");
  for (size_t i = 0; i < g.by_stage.size(); ++i)
    expect_close(w.by_stage[i], g.by_stage[i], "stage");
  EXPECT_EQ(w.by_op.size(), g.by_op.size());
  for (const auto& op : w.by_op) expect_close(op.slowdown, g.by_op.at(op.name), op.name);
  ASSERT_EQ(w.top.size(), 1U);
  EXPECT_EQ(w.top[0].dp_rank, g.top_dp);
  EXPECT_EQ(w.top[0].stage, g.top_stage);
  EXPECT_NEAR(w.worker_share_removal, g.mw_removal, 1e-5);
  EXPECT_NEAR(w.worker_share_addback, g.mw_addback, 1e-5);
  EXPECT_NEAR(w.stage_share_removal, g.ms_removal, 1e-5);
  EXPECT_NEAR(w.stage_share_addback, g.ms_addback, 1e-5);
}

TEST(WhatIfGolden, EveryPublishedNumberComesOut) {
  for (const Golden* g : {&kAr, &kSt}) {
    const auto e = read(g->file);
    if (!e) GTEST_SKIP() << "shared data is not here";
    check(*replay_ops(*e), *g);
  }
}

TEST(WhatIfGolden, TheOrderOfTheRowsDoesNotMatter) {
  auto e = read(kSt.file);
  if (!e) GTEST_SKIP() << "shared data is not here";
  auto& t = e->ops;
  const auto reverse = [](auto& column) { std::reverse(column.begin(), column.end()); };
  for (auto* c : {&t.dp_rank, &t.stage, &t.rank, &t.step, &t.seq, &t.model_chunk,
                  &t.global_model_chunk, &t.microbatch})
    reverse(*c);
  reverse(t.optype);
  reverse(t.start);
  reverse(t.duration);
  check(*replay_ops(*e), kSt);
}

// The largest relative difference of S and the dp shares from the published ones.
double miss(const Evidence& e, const Golden& g, const whatif::Rules& rules) {
  const auto job = whatif::load_job(e);
  const auto graph = whatif::build_graph(*job, rules);
  const WhatIf w =
      whatif::replay_results(*job, *graph, whatif::own_durations(*job, *graph, rules), rules);
  double most = std::fabs(w.slowdown / g.slowdown - 1);
  for (size_t i = 0; i < g.by_dp.size(); ++i)
    most = std::max(most, std::fabs(w.by_dp_rank[i] / g.by_dp[i] - 1));
  return most;
}

TEST(WhatIfGolden, WrongReadingsMissThePublishedNumbers) {
  const auto e = read(kAr.file);
  if (!e) GTEST_SKIP() << "shared data is not here";
  EXPECT_LT(miss(*e, kAr, {}), kRelative);
  EXPECT_GT(miss(*e, kAr, {.raw_grouped = true}), 0.3);
  EXPECT_GT(miss(*e, kAr, {.scatter_over_dp = false}), 0.05);
  EXPECT_GT(miss(*e, kAr, {.pair_p2p = false}), 0.05);
  EXPECT_GT(miss(*e, kAr, {.median_compute = true}), 0.05);
  EXPECT_GT(miss(*e, kAr, {.recv_waits_for_previous = false}), 1e-4);
  EXPECT_GT(miss(*e, kAr, {.mean_layernorm = true}), 5e-5);
  EXPECT_GT(miss(*e, kAr, {.clip_over_dp = false}), 3e-5);
}

TEST(WhatIfGolden, ALedgerOfTheCriticalPathSumsToTheMeasuredStep) {
  for (const Golden* g : {&kAr, &kSt}) {
    const auto e = read(g->file);
    if (!e) GTEST_SKIP() << "shared data is not here";
    const OpAnalysis a = analyse_ops(*e);
    ASSERT_EQ(a.path.size(), a.what_if->base_per_step.size());
    for (size_t s = 0; s < a.path.size(); ++s) {
      Ns sum = 0;
      for (const auto& phase : a.path.ledger) sum += phase[s];
      ASSERT_EQ(sum, a.path.time[s]);
      ASSERT_NEAR(static_cast<double>(a.path.time[s]) * 1e-9, a.what_if->base_per_step[s], 1e-6);
    }
    for (size_t row = 0; row < a.steps.size(); ++row) {
      Ns sum = 0;
      for (size_t p = 0; p < kPhases; ++p)
        sum += std::max<Ns>(0, a.steps.phase(row, static_cast<Phase>(p)));
      ASSERT_LE(sum, a.steps.duration[row]);
    }
  }
}

TEST(WhatIfGolden, TheRawScatterOfArIsWaitNotTransfer) {
  const auto e = read(kAr.file);
  if (!e) GTEST_SKIP() << "shared data is not here";
  const auto job = whatif::load_job(*e);
  const auto graph = whatif::build_graph(*job);
  const auto own = whatif::own_durations(*job, *graph);
  double raw = 0, transfer = 0;
  size_t n = 0;
  for (size_t i = 0; i < job->ops.size(); ++i) {
    if (job->ops[i].type != whatif::OpType::grads_reduce_scatter) continue;
    for (size_t c = 0; c < job->cells(); ++c, ++n) {
      raw += job->duration[i * job->cells() + c];
      transfer += own[i * job->cells() + c];
    }
  }
  EXPECT_NEAR(raw / static_cast<double>(n), 10.29, 0.01);
  EXPECT_NEAR(transfer / static_cast<double>(n), 0.276, 0.001);
  // The rows of the victims say the same: nearly all of their collective and p2p time is wait.
  const OpAnalysis a = analyse_ops(*e);
  double wait = 0, all = 0;
  for (size_t row = 0; row < a.steps.size(); ++row) {
    wait += static_cast<double>(a.wait[row] + a.p2p_wait[row]);
    all +=
        static_cast<double>(a.steps.phase(row, Phase::collective) + a.steps.phase(row, Phase::p2p));
  }
  EXPECT_GT(wait / all, 0.9);
}

}  // namespace
}  // namespace firstwait
