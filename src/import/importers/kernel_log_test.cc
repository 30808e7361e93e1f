#include "base/testing/test_data.h"
#include "import/import_testing.h"

namespace firstwait {
extern const Importer importer_kernel_log;
namespace {

TEST(KernelLog, EveryWayToWriteTheTimeIsRead) {
  const Evidence e = import_text(
      importer_kernel_log,
      R"([Sun Feb 23 16:24:18 2025] NVRM: Xid (PCI:0000:9b:00): 79, pid=1, GPU has fallen off the bus.
[  123.500000] mlx5_core 0000:3b:00.0 eth2: Link down
2025-02-23T16:24:18.500000+00:00 node07 kernel: mlx5_core 0000:3b:00.0 eth2: Link up
Feb 23 16:24:18 node08 kernel: [ 99.5] Out of memory: Killed process 4711 (python3) total-vm:1kB
{"__REALTIME_TIMESTAMP":"1740327858250000","_HOSTNAME":"node09","MESSAGE":"nfs: server nfs01 not responding, still trying"}
)",
      13, "dir/node01.log");
  ASSERT_EQ(e.events.size(), 5U);
  EXPECT_EQ(e.events[0].kind, "xid");
  EXPECT_EQ(e.events[0].entity, "gpu/node01:0000:9b:00");
  EXPECT_EQ(e.events[0].start, 1740327858000000000);
  EXPECT_EQ(e.events[0].attribute("code"), "79");
  EXPECT_EQ(e.events[1].kind, "link_down");
  EXPECT_EQ(e.events[1].entity, "nic/node01:eth2");
  EXPECT_EQ(e.events[1].start, 123'500'000'000);
  EXPECT_EQ(e.events[1].attribute("clock"), "boot");
  EXPECT_EQ(e.events[2].kind, "link_up");
  EXPECT_EQ(e.events[2].entity, "nic/node07:eth2");
  EXPECT_EQ(e.events[2].start, 1740327858500000000);
  EXPECT_EQ(e.events[3].kind, "oom");
  EXPECT_EQ(e.events[3].attribute("pid"), "4711");
  EXPECT_EQ(e.events[3].attribute("process"), "python3");
  EXPECT_EQ(e.events[4].kind, "nfs_not_responding");
  EXPECT_EQ(e.events[4].entity, "host/node09");
  EXPECT_EQ(e.events[4].attribute("server"), "nfs01");
  EXPECT_EQ(e.events[4].start, 1740327858250000000);
  EXPECT_EQ(health_count(e, "seconds_since_boot"), 1U);
  EXPECT_EQ(health_count(e, "no_year"), 1U);
}

TEST(KernelLog, HardwareStorageAndThermalLinesAreToldAndOthersIgnored) {
  const Evidence e =
      import_text(importer_kernel_log, R"([ 1.5] mce: [Hardware Error]: Machine check events logged
[ 2.5] EDAC MC0: 1 CE memory read error on CPU_SrcID#0
[ 3.5] blk_update_request: I/O error, dev nvme0n1, sector 5
[ 4.5] mce: CPU17: Core temperature above threshold, cpu clock throttled (total events = 5)
[ 5.5] clocksource: Long readout interval
[ 6.5] ata1: SATA link down (SStatus 0 SControl 300)
[ 7.5] igb 0000:01:00.0 eno1: igb: eno1 NIC Link is Down
)");
  ASSERT_EQ(e.events.size(), 5U);
  EXPECT_EQ(e.events[0].kind, "hardware_error");
  EXPECT_EQ(e.events[1].attribute("severity"), "corrected");
  EXPECT_EQ(e.events[2].kind, "io_error");
  EXPECT_EQ(e.events[2].attribute("device"), "nvme0n1");
  EXPECT_EQ(e.events[3].kind, "throttle");
  EXPECT_EQ(e.events[3].attribute("cpu"), "17");
  EXPECT_EQ(e.events[4].kind, "link_down");
  EXPECT_EQ(e.events[4].entity, "nic/test-input:eno1");
}

TEST(KernelLog, ARealLogWithXid119GivesItsFiveEvents) {
  const auto path = shared_data("node/gpud/dmesg-with-xid-119.log");
  if (!path) GTEST_SKIP() << "shared data is absent";
  const std::string text = read_whole(*path);
  EXPECT_EQ(recognised_as(text), "kernel_log");
  const Evidence e = import_text(importer_kernel_log, text, 0, *path);
  ASSERT_EQ(e.events.size(), 5U);
  for (const auto& event : e.events) {
    EXPECT_EQ(event.kind, "xid");
    EXPECT_EQ(event.attribute("code"), "119");
    EXPECT_EQ(event.attribute("meaning"), "GSP RPC timeout");
    EXPECT_EQ(event.attribute("bus"), "0000:9b:00");
  }
  EXPECT_EQ(e.events[4].attribute("process"), "gpud");
  EXPECT_EQ(e.events[4].start, 1740328213000000000);
}

}  // namespace
}  // namespace firstwait
