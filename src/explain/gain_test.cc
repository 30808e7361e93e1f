#include "explain/gain.h"

#include <gtest/gtest.h>

#include <set>

#include "explain/testing/view_builder.h"

namespace firstwait {
namespace {

constexpr Phase kInput[] = {Phase::input_wait};

TEST(Gain, RemovingAPhaseIsAnUpperBoundWithoutALowerEnd) {
  ViewBuilder b(false);
  b.phase(Phase::input_wait, 0.0693, 0).phase(Phase::backward, 0.1055, 0);
  const Hypothesis h{.id = "input.loading_in_main_thread",
                     .claim = "",
                     .decides = "",
                     .accounts_for = kInput,
                     .needs = {},
                     .thresholds = {},
                     .checklist_step = 5,
                     .prior = 0,
                     .test = nullptr};
  Tested t;
  t.hypothesis = &h;
  t.cell = Phase::input_wait;
  t.verdict.outcome = Outcome::supported;
  t.verdict.effect = Effect{0.0693, {kNaN, 0.0693}};
  const auto all = actions_for(b.view(), t);
  ASSERT_FALSE(all.empty());
  EXPECT_NEAR(all.front().speedup.hi, 0.1748 / 0.1055, 1e-3);
  EXPECT_TRUE(std::isnan(all.front().speedup.lo));
  EXPECT_FALSE(all.front().assumption.empty());
  EXPECT_EQ(all.front().then_bound_by, "compute");
}

TEST(Gain, NoEffectMeansNoPrediction) {
  ViewBuilder b(false);
  b.phase(Phase::input_wait, 0.1, 0).phase(Phase::backward, 0.1, 0);
  const Hypothesis h{.id = "input.loading_in_main_thread",
                     .claim = "",
                     .decides = "",
                     .accounts_for = kInput,
                     .needs = {},
                     .thresholds = {},
                     .checklist_step = 5,
                     .prior = 0,
                     .test = nullptr};
  Tested t;
  t.hypothesis = &h;
  for (const auto& a : actions_for(b.view(), t)) EXPECT_TRUE(std::isnan(a.speedup.hi)) << a.id;
}

TEST(Actions, IdsAreUniqueAndCureKnownCauses) {
  std::set<std::string_view> causes, ids;
  for (const auto& h : hypotheses()) causes.insert(h.module->id);
  for (const auto& table : actions()) {
    EXPECT_EQ(table.module->family, table.file);
    for (const auto& row : table.module->rows) {
      EXPECT_TRUE(ids.insert(row.id).second) << row.id;
      EXPECT_FALSE(row.text.empty());
      for (const auto cause : row.cures)
        EXPECT_TRUE(causes.contains(cause)) << row.id << " cures " << cause;
    }
  }
}

}  // namespace
}  // namespace firstwait
