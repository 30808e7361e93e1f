#include "attribute/workers.h"

#include <gtest/gtest.h>

#include "align/align.h"
#include "attribute/attribute.h"
#include "attribute/grouping.h"
#include "attribute/testing/test_series.h"

namespace firstwait {
namespace {

Attribution diagnose(Evidence& evidence) {
  align(evidence, {});
  return attribute(evidence);
}

TEST(Workers, ALateSpellIsNamedAtItsRankWhereverThatIs) {
  for (const int32_t late : {0, 3, 9}) {
    Evidence evidence;
    for (int32_t r = 0; r < 10; ++r)
      add_rank(evidence, r, 300, 0.03, [&](int32_t s) {
        return (430 - 0.1 * s) *
               (r == late && s >= 181 && s <= 194 ? 1.5 : 1);  // over a common drift
      });
    const Attribution a = diagnose(evidence);
    ASSERT_EQ(a.straggles.size(), 1U) << late;
    EXPECT_EQ(a.straggles[0].rank, late);
    EXPECT_EQ(a.straggles[0].first_step, 181);
    EXPECT_EQ(a.straggles[0].last_step, 194);
    EXPECT_NEAR(a.straggles[0].mean_ratio, 1.5, 0.05);
    EXPECT_FALSE(a.onset.has_value());
  }
}

TEST(Workers, ConstantOffsetsAreNoFault) {
  const double offset[] = {0.84, 0.82, 0.89, 1.02, 1.02, 1.08, 1, 1.01, 1, 0.95};
  Evidence evidence;
  for (int32_t r = 0; r < 10; ++r)
    add_rank(evidence, r, 240, 0.02, [&](int32_t) { return 838 * offset[r]; });
  const Attribution a = diagnose(evidence);
  EXPECT_TRUE(a.straggles.empty());
  EXPECT_FALSE(a.onset.has_value());
  ASSERT_FALSE(a.offsets.empty());
  EXPECT_EQ(a.offsets[0].rank, 5);
  EXPECT_NEAR(a.offsets[0].ratio, 1.08, 0.01);
  EXPECT_NEAR(a.offsets[0].seconds_per_step, 0.045, 0.015);  // the next slowest is at 1.02
}

TEST(Workers, ARankLateThroughoutIsComparedWithItsPeers) {
  Evidence evidence;
  for (int32_t r = 0; r < 8; ++r)
    add_rank(evidence, r, 300, 0.03, [&](int32_t) { return r == 2 ? 160 : 100; });
  const Attribution a = diagnose(evidence);
  ASSERT_EQ(a.straggles.size(), 1U);
  EXPECT_EQ(a.straggles[0].rank, 2);
  EXPECT_EQ(a.baseline_kind, BaselineKind::peers);
  EXPECT_NEAR(a.slowdown, 1.55, 0.05);
  EXPECT_EQ(a.pattern.kind, PatternKind::chronic);
}

TEST(Workers, AShortSpellAndOneAtTheStartAreNamed) {
  const struct {
    int32_t first, last;
    double ratio;
  } spells[] = {{20, 26, 2.0}, {0, 14, 1.7}};
  for (const auto& spell : spells) {
    Evidence evidence;
    for (int32_t r = 0; r < 10; ++r)
      add_rank(evidence, r, 300, 0.06, [&](int32_t s) {
        return 430 * (r == 4 && s >= spell.first && s <= spell.last ? spell.ratio : 1);
      });
    const Attribution a = diagnose(evidence);
    ASSERT_EQ(a.straggles.size(), 1U) << spell.first;
    EXPECT_EQ(a.straggles[0].rank, 4);
    EXPECT_EQ(a.straggles[0].first_step, spell.first);
    EXPECT_EQ(a.straggles[0].last_step, spell.last);
  }
}

TEST(Workers, AStartUpOfAllRanksIsNoStraggler) {
  Evidence evidence;
  for (int32_t r = 0; r < 10; ++r)
    add_rank(evidence, r, 300, 0.03, [&](int32_t s) { return s < 15 ? 170 : 100; });
  const Attribution a = diagnose(evidence);
  EXPECT_TRUE(a.straggles.empty());
  EXPECT_EQ(a.steps.segment[5], SegmentKind::warmup);
}

TEST(Workers, AHostLateThroughoutIsComparedWithTheOtherHosts) {
  Evidence evidence;
  for (int32_t r = 0; r < 32; ++r) {
    add_rank(evidence, r, 200, 0.03, [&](int32_t) { return r / 8 == 2 ? 160 : 100; });
    evidence.rank(r).host = "node" + std::to_string(r / 8);
  }
  const Attribution a = diagnose(evidence);
  ASSERT_EQ(a.straggles.size(), 8U);
  for (const Straggle& s : a.straggles) EXPECT_EQ(s.rank / 8, 2);
  EXPECT_EQ(a.baseline_kind, BaselineKind::peers);
  EXPECT_NEAR(a.slowdown, 1.6, 0.06);
  ASSERT_FALSE(a.groupings.empty());
  EXPECT_EQ(a.groupings[0].value, "host/node2");
}

// Steps that stay slow for a while by themselves: as many windows in a row as a spell, and no
// fault.
TEST(Workers, NoiseThatLingersIsNoSpell) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Evidence evidence;
    for (int32_t r = 0; r < 10; ++r) {
      Random random(100 * seed + static_cast<uint64_t>(r));
      double lasting = 0;
      add_rank(evidence, r, 300, 0.01, [&](int32_t) {
        lasting = 0.6 * lasting + 0.8 * 0.087 * random.normal();
        return 100 * std::exp(lasting);
      });
    }
    EXPECT_TRUE(diagnose(evidence).straggles.empty()) << seed;
  }
}

// So long alike that a stretch of it, or all of the record, lies off by chance; ranks that are late
// in such noise by much more are named still.
TEST(Workers, NoiseThatLingersForLongMakesNoRankLate) {
  for (const bool late : {false, true})
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Evidence evidence;
      for (int32_t r = 0; r < 8; ++r) {
        Random random(100 * seed + static_cast<uint64_t>(r));
        double lasting = 0;
        add_rank(evidence, r, 300, 0.01, [&](int32_t s) {
          lasting = 0.9 * lasting + 0.436 * (late ? 0.05 : 0.15) * random.normal();
          return 100 * std::exp(lasting) * (late && r == 5 && s >= 150 ? 1.3 : 1);
        });
      }
      const Attribution a = diagnose(evidence);
      EXPECT_EQ(a.straggles.empty(), !late) << seed;
      for (const Straggle& found : a.straggles) EXPECT_EQ(found.rank, 5) << seed;
    }
}

TEST(Workers, FewerThanFivePeersGetNoZScore) {
  Evidence evidence;
  for (int32_t r = 0; r < 4; ++r)
    add_rank(evidence, r, 100, 0.03, [&](int32_t s) { return r == 1 && s > 30 ? 150 : 100; });
  const Attribution a = diagnose(evidence);
  ASSERT_EQ(a.straggles.size(), 1U);
  EXPECT_EQ(a.straggles[0].rank, 1);
  EXPECT_EQ(a.straggles[0].first_step, 31);
  for (const RankStat& s : a.rank_stats) EXPECT_TRUE(std::isnan(s.robust_z));
}

TEST(Workers, EqualRanksAreNotAccused) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Evidence evidence;
    for (int32_t r = 0; r < 16; ++r)
      add_rank(evidence, r + static_cast<int32_t>(seed) * 100, 500, 0.1,
               [](int32_t) { return 100; });
    const Attribution a = diagnose(evidence);
    EXPECT_TRUE(a.straggles.empty());
    EXPECT_TRUE(a.offsets.empty());
  }
}

TEST(Grouping, NamesTheRackAndReportsWhatCannotBeToldApartTogether) {
  Evidence evidence;
  std::vector<int32_t> ranks;
  for (int32_t r = 0; r < 32; ++r) {
    evidence.rank(r).host = "n" + std::to_string(r / 4);
    ranks.push_back(r);
  }
  for (int32_t h = 0; h < 8; ++h) {
    const std::string host = "host/n" + std::to_string(h), rack = std::to_string(h / 2);
    evidence.relations.push_back({host, "located_in", "rack/r" + rack, "", kNoTime, kNoTime});
    evidence.relations.push_back({host, "connects_to", "switch/s" + rack, "", kNoTime, kNoTime});
  }
  const auto groups = group_slow_ranks(evidence, ranks, {8, 9, 10, 11, 12, 13, 14, 15});
  ASSERT_FALSE(groups.empty());
  EXPECT_EQ(groups[0].dimensions, (std::vector<std::string>{"rack", "switch"}));
  EXPECT_EQ(groups[0].value, "rack/r1");
  EXPECT_LT(groups[0].p_value, 1e-5);
  EXPECT_TRUE(group_slow_ranks(evidence, ranks, {0, 5, 10, 15, 20, 25}).empty());
  EXPECT_TRUE(group_slow_ranks(evidence, ranks, {3}).empty());
}

// Everybody lost the same seconds: by ratio the late rank was later before.
TEST(Workers, ARankLateThroughoutDoesNotBecomeLateWhenAllSlowDown) {
  Evidence evidence;
  for (int32_t r = 0; r < 8; ++r)
    add_rank(evidence, r, 300, 0.03,
             [&](int32_t s) { return (r == 5 ? 570 : 400) + (s < 150 ? 0 : 200); });
  const Attribution a = diagnose(evidence);
  ASSERT_TRUE(a.onset.has_value());
  EXPECT_NEAR(a.onset->step, 150, 1);
  ASSERT_EQ(a.straggles.size(), 1U);
  EXPECT_EQ(a.straggles[0].rank, 5);
  EXPECT_EQ(a.straggles[0].first_step, a.steps.step[0]);
  EXPECT_EQ(a.straggles[0].last_step, 299);
}

}  // namespace
}  // namespace firstwait
