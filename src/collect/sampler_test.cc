#include "collect/sampler.h"

#include <atomic>
#include <condition_variable>
#include <thread>

#include "collect/testing/bench.h"

namespace firstwait {
namespace {

constexpr Metric kTick[] = {{"firstwait_test_ticks_total", MetricKind::counter, "Samplings.", 1}};
std::atomic<bool> g_hang{false};

class Ticks final : public Sampling {
 public:
  Presence sample(Out& out) override {
    out.put(kTick[0], {{"from", "ticks \"quoted\"\n"}}, ++n_);
    return Presence::present;
  }
  int64_t n_ = 0;
};
class Hangs final : public Sampling {
 public:
  Presence sample(Out&) override {
    while (g_hang) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Presence::absent;
  }
};

constexpr Collector kTicks{
    .name = "ticks",
    .what = "",
    .metrics = kTick,
    .reads = "",
    .needs = "",
    .period = 10'000'000,
    .make = [](const World&) -> std::unique_ptr<Sampling> { return std::make_unique<Ticks>(); }};
constexpr Collector kHangs{
    .name = "hangs",
    .what = "",
    .metrics = {},
    .reads = "",
    .needs = "",
    .period = 10'000'000,
    .may_hang = true,
    .make = [](const World&) -> std::unique_ptr<Sampling> { return std::make_unique<Hangs>(); }};
const Registered<Collector> kModules[] = {{"hangs", &kHangs}, {"ticks", &kTicks}};

TEST(Sampler, ACollectorThatHangsStallsNobodyAndIsReported) {
  g_hang = true;
  Sampler sampler({.world = {.host = "node01"}, .modules = kModules});
  sampler.start();
  for (int i = 0; i < 500 && sampler.states()[1].samplings < 5; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const auto states = sampler.states();
  EXPECT_GE(states[1].samplings, 5u);
  EXPECT_GT(states[0].hanging, 0);
  EXPECT_NE(sampler.exposition(false).find(
                "firstwait_agent_collector_hanging_seconds{collector=\"hangs\"} 0."),
            std::string::npos);
  sampler.stop();  // returns although the thread hangs
  g_hang = false;
}

TEST(Sampler, AWallClockThatJumpsBackLosesNoSample) {
  Ns now = 1'764'500'000'000'000'000;
  Sampler sampler({.world = {.host = "node01"},
                   .clock = [&] { return now; },
                   .modules = std::span(kModules).subspan(1)});
  for (int i = 0; i < 10; ++i) {
    sampler.sample_once();
    now += i == 4 ? -3'600'000'000'000 : 1'000'000'000;
  }
  std::string text;
  sampler.write_metrics([&](std::string_view part) {
    text += part;
    return true;
  });
  const std::string head =
      "firstwait_test_ticks_total{instance=\"node01\",from=\"ticks \\\"quoted\\\"\\n\"} ";
  EXPECT_NE(text.find(head + "1 1764500000\n"), std::string::npos) << text;
  EXPECT_NE(text.find(head + "6 1764496404\n"), std::string::npos) << text;
  EXPECT_NE(text.find(head + "10 "), std::string::npos);
  EXPECT_TRUE(text.starts_with(
      "# HELP firstwait_test_ticks Samplings.\n# TYPE firstwait_test_ticks counter\n"));
  EXPECT_TRUE(text.ends_with("# EOF\n"));
}

TEST(Sampler, APeriodOfZeroSwitchesACollectorOff) {
  Sampler sampler({.periods = {{"hangs", 0}}, .modules = kModules});
  ASSERT_EQ(sampler.states().size(), 1u);
  EXPECT_EQ(sampler.states()[0].collector->name, "ticks");
}

TEST(Sampler, TheTextSaysCounterAsEachFormatWantsIt) {
  Sampler sampler({.modules = std::span(kModules).subspan(1)});
  sampler.sample_once();
  EXPECT_NE(sampler.exposition(false).find("# TYPE firstwait_test_ticks_total counter\n"),
            std::string::npos);
  const std::string open = sampler.exposition(true);
  EXPECT_NE(open.find("# TYPE firstwait_test_ticks counter\n"), std::string::npos);
  EXPECT_TRUE(open.ends_with("# EOF\n"));
}

TEST(AppendDecimal, IsExact) {
  const auto text = [](int64_t raw, int64_t scale) {
    std::string out;
    append_decimal(out, raw, scale);
    return out;
  };
  EXPECT_EQ(text(0, 100), "0");
  EXPECT_EQ(text(5, 100), "0.05");
  EXPECT_EQ(text(1050, 100), "10.5");
  EXPECT_EQ(text(-1, 1'000'000'000), "-0.000000001");
  EXPECT_EQ(text(INT64_MIN, 1), "-9223372036854775808");
  EXPECT_EQ(text(INT64_MAX, 1000), "9223372036854775.807");
}

}  // namespace
}  // namespace firstwait
