#include "align/gpu_names.h"

#include <gtest/gtest.h>

namespace firstwait {
namespace {

Evidence node(std::string bus, std::string uuid) {
  Evidence e;
  e.settings.push_back({"gpu/node07:2", "gpu.bus_id", std::move(bus), "", kNoTime});
  e.settings.push_back({"gpu/node07:2", "gpu.uuid", std::move(uuid), "", kNoTime});
  return e;
}
Event xid(std::string entity) {
  Event e;
  e.kind = "xid";
  e.entity = std::move(entity);
  return e;
}

TEST(GpuNames, AnAddressOfTheKernelsLogIsTheNumberThatNvidiaSmiGives) {
  for (const char* bus : {"00000000:9B:00.0", "0000:9b:00.0", "9B:00.0"}) {
    Evidence e = node(bus, "GPU-aa");
    e.events = {xid("gpu/node07:0000:9b:00"), xid("gpu/node07:0000:1a:00"),
                xid("gpu/node08:0000:9b:00"), xid("gpu/0000:9b:00"), xid("gpu/node07:5")};
    join_gpu_names(e);
    EXPECT_EQ(e.events[0].entity, "gpu/node07:2") << bus;
    EXPECT_EQ(e.events[1].entity, "gpu/node07:0000:1a:00") << "another device";
    EXPECT_EQ(e.events[2].entity, "gpu/node08:0000:9b:00") << "another host";
    EXPECT_EQ(e.events[3].entity, "gpu/0000:9b:00");
    EXPECT_EQ(e.events[4].entity, "gpu/node07:5");
  }
}

TEST(GpuNames, ADomainIsPartOfTheAddress) {
  Evidence e = node("00010000:9B:00.0", "GPU-aa");
  e.events = {xid("gpu/node07:0000:9b:00"), xid("gpu/node07:10000:9b:00")};
  join_gpu_names(e);
  EXPECT_EQ(e.events[0].entity, "gpu/node07:0000:9b:00");
  EXPECT_EQ(e.events[1].entity, "gpu/node07:2");
}

TEST(GpuNames, AProcessKnownByUuidIsOnTheNumberedGpu) {
  Evidence e = node("9b:00", "GPU-aa");
  e.relations.push_back({"process/node07:4711", "uses", "gpu/node07:GPU-aa", "", kNoTime, kNoTime});
  e.relations.push_back({"process/node07:4712", "uses", "gpu/node07:GPU-bb", "", kNoTime, kNoTime});
  join_gpu_names(e);
  EXPECT_EQ(e.relations[0].to, "gpu/node07:2");
  EXPECT_EQ(e.relations[1].to, "gpu/node07:GPU-bb");
}

TEST(GpuNames, NcclsAddressWithoutColonsIsRead) {
  Evidence e;
  e.entities.push_back({"gpu/a:0", {{"bus_id", "9b000"}}});
  e.entities.push_back({"gpu/a:1", {{"bus_id", "101c0"}}});
  e.events = {xid("gpu/a:0000:9b:00"), xid("gpu/a:0000:10:1c")};
  join_gpu_names(e);
  EXPECT_EQ(e.events[0].entity, "gpu/a:0");
  EXPECT_EQ(e.events[1].entity, "gpu/a:1");
}

TEST(GpuNames, WhatTwoNumbersClaimIsNobodys) {
  Evidence e = node("9b:00", "GPU-aa");
  e.settings.push_back({"gpu/node07:3", "gpu.bus_id", "9b:00", "", kNoTime});
  e.settings.push_back({"gpu/node07:4", "gpu.bus_id", "nonsense", "", kNoTime});
  e.events = {xid("gpu/node07:0000:9b:00"), xid("gpu/node07:"), xid("gpu/:"), xid("")};
  join_gpu_names(e);
  EXPECT_EQ(e.events[0].entity, "gpu/node07:0000:9b:00");
}

}  // namespace
}  // namespace firstwait
