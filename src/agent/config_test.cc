#include "agent/config.h"

#include <gtest/gtest.h>

namespace firstwait {
namespace {

std::string fault(const std::string& yaml) {
  const auto config = parse_config(yaml, "agent.yaml");
  return config ? "" : config.error().what + " (" + config.error().where + ")";
}

TEST(AgentConfig, EveryKeyIsRead) {
  const auto c = parse_config(
      "listen: 0.0.0.0:9476\nhost: node07\nroot: /host\ncollectors:\n  cpu: 500ms\n  meminfo: "
      "off\n  loadavg: {period: 2m}\n"
      "limits: {series: 1000, memory: 4MiB}\nwatch: [train.py]\n"
      "push:\n  url: http://c:4318\n  interval: 10s\n  headers: {Authorization: Bearer x}\n  "
      "spool: /var/spool\n  spool_bytes: 1MB\n",
      "agent.yaml");
  ASSERT_TRUE(c) << c.error().what;
  EXPECT_EQ(c->periods.at("cpu"), 500'000'000);
  EXPECT_EQ(c->periods.at("meminfo"), 0);
  EXPECT_EQ(c->periods.at("loadavg"), 120'000'000'000);
  EXPECT_EQ(c->memory_bytes, 4u << 20);
  EXPECT_EQ(c->series, 1000u);
  EXPECT_EQ(c->push.headers.at("Authorization"), "Bearer x");
  EXPECT_EQ(c->push.interval, 10'000'000'000);
  EXPECT_EQ(c->watch, std::vector<std::string>{"train.py"});
}

TEST(AgentConfig, AnEmptyFileIsTheDefaults) { EXPECT_EQ(*parse_config("", "x"), AgentConfig{}); }

TEST(AgentConfig, FaultsNameTheLine) {
  EXPECT_EQ(fault("listen: a\nlisten_on: b\n"),
            "unknown key 'listen_on'; known are listen, host, root, collectors, limits, watch, "
            "push (agent.yaml, line 2)");
  EXPECT_EQ(
      fault("collectors:\n  cpus: 1s\n"),
      "unknown collector 'cpus'; `firstwait list collectors` names them (agent.yaml, line 2)");
  EXPECT_EQ(fault("collectors: {cpu: soon}"),
            "'soon' is no period; write 1s, 500ms, 2m or off (agent.yaml, line 1)");
  EXPECT_EQ(fault("collectors: {cpu: 1ms}"),
            "a period is from 100ms to 24h, or off (agent.yaml, line 1)");
  EXPECT_NE(fault("push: [1, 2"), "");
  EXPECT_NE(fault("- a\n"), "");
  EXPECT_NE(fault("push: {headers: {A: \"x\\r\\nB: y\"}}"), "");
  EXPECT_NE(fault("limits: {memory: -1}"), "");
  EXPECT_NE(fault("limits: {memory: 1e300}"), "");
}

}  // namespace
}  // namespace firstwait
