#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_pressure;
namespace {

constexpr const char* kIo =
    "some avg10=0.18 avg60=0.34 avg300=0.10 total=159886802\nfull avg10=0.18 avg60=0.34 "
    "avg300=0.10 total=159229614\n";

TEST(Pressure, TotalsAreSecondsAndFullCpuIsLeftOut) {
  Tree tree;
  tree.file("proc/pressure/io", kIo)
      .file("proc/pressure/cpu", kIo)
      .file("proc/pressure/irq", "full avg10=0.00 total=8494\n");
  auto got = Bench(collector_pressure, tree).sample();
  EXPECT_DOUBLE_EQ(got.at("node_pressure_io_waiting_seconds_total"), 159.886802);
  EXPECT_DOUBLE_EQ(got.at("node_pressure_io_stalled_seconds_total"), 159.229614);
  EXPECT_DOUBLE_EQ(got.at("node_pressure_irq_stalled_seconds_total"), 0.008494);
  EXPECT_EQ(got.size(), 4u);  // and CPU waiting
}

TEST(Pressure, AKernelWithoutItIsAbsent) {
  Tree tree;
  Bench bench(collector_pressure, tree);
  bench.sample();
  EXPECT_EQ(bench.presence(), Presence::absent);
}

TEST(Pressure, ADamagedFileIsSurvived) {
  expect_survives_damage(collector_pressure, "proc/pressure/io", kIo);
}

}  // namespace
}  // namespace firstwait
