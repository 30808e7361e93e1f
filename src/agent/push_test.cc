#include "agent/push.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <isa-l/igzip_lib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <protozero/pbf_reader.hpp>
#include <set>

#include "agent/otlp.h"
#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_loadavg;
extern const Collector collector_cpu;
namespace {

constexpr Ns kSecond = 1'000'000'000, kStart = 1'764'500'000 * kSecond;
const Registered<Collector> kModules[] = {{"cpu", &collector_cpu}, {"loadavg", &collector_loadavg}};

std::string gunzip(const std::string& text) {
  inflate_state state;
  isal_inflate_init(&state);
  state.crc_flag = ISAL_GZIP;
  std::string out(64 << 20, '\0');
  state.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  state.avail_in = static_cast<uint32_t>(text.size());
  state.next_out = reinterpret_cast<uint8_t*>(out.data());
  state.avail_out = static_cast<uint32_t>(out.size());
  EXPECT_EQ(isal_inflate(&state), ISAL_DECOMP_OK);
  out.resize(state.total_out);
  return out;
}

// "name{key=value,…} time value cumulative?" of each point.
std::vector<std::string> points_of(const std::string& body) {
  std::vector<std::string> out;
  const auto attribute = [](protozero::pbf_reader kv) {
    std::string key, value;
    while (kv.next()) {
      if (kv.tag() == 1)
        key = kv.get_string();
      else if (kv.tag() == 2) {
        auto any = kv.get_message();
        while (any.next()) any.tag() == 1 ? void(value = any.get_string()) : any.skip();
      } else
        kv.skip();
    }
    return key + "=" + value + ",";
  };
  const auto data = [&](protozero::pbf_reader d, const std::string& name, bool sum) {
    std::string tail;
    std::vector<std::string> mine;
    while (d.next()) {
      if (d.tag() != 1) {
        if (sum && d.tag() == 2)
          tail += d.get_enum() == 2 ? " cumulative" : " ?";
        else if (sum && d.tag() == 3)
          tail += d.get_bool() ? " monotonic" : "";
        else
          d.skip();
        continue;
      }
      auto p = d.get_message();
      std::string labels, time, value;
      while (p.next()) switch (p.tag()) {
          case 3:
            time = std::to_string(p.get_fixed64());
            break;
          case 4:
            value = fmt::format("{}", p.get_double());
            break;
          case 6:
            value = std::to_string(p.get_sfixed64());
            break;
          case 7:
            labels += attribute(p.get_message());
            break;
          default:
            p.skip();
        }
      mine.push_back(name + "{" + labels + "} " + time + " " + value);
    }
    for (auto& m : mine) out.push_back(m + tail);
  };
  protozero::pbf_reader request(body);
  while (request.next(1)) {
    auto resource = request.get_message();
    while (resource.next()) {
      if (resource.tag() != 2) {
        resource.skip();
        continue;
      }
      auto scope = resource.get_message();
      while (scope.next()) {
        if (scope.tag() != 2) {
          scope.skip();
          continue;
        }
        auto metric = scope.get_message();
        std::string name;
        while (metric.next()) {
          if (metric.tag() == 1)
            name = metric.get_string();
          else if (metric.tag() == 5 || metric.tag() == 7) {
            const bool sum = metric.tag() == 7;
            data(metric.get_message(), name, sum);
          } else
            metric.skip();
        }
      }
    }
  }
  return out;
}

class PushTest : public testing::Test {
 protected:
  void SetUp() override {
    tree_.file("proc/loadavg", "0.21 0.37 0.39 1/719 19737\n")
        .file("proc/stat", "cpu0 100 0 10 2000 5 0 1 0 7 8\nctxt 38014093\n");
    sampler_ = std::make_shared<Sampler>(SamplerOptions{.world = {Root::at(tree_.path()), "node07"},
                                                        .clock = [this] { return now_; },
                                                        .modules = kModules});
  }
  PushConfig config(const std::string& spool) {
    PushConfig c;
    c.url = "http://127.0.0.1:1";
    c.interval = 3600 * kSecond;  // the thread sleeps; the test drives
    c.spool = spool;
    return c;
  }
  std::unique_ptr<Push> start(const std::string& spool, Taken taken = {}) {
    auto push = Push::start(
        config(spool), [this] { return sampler_; },
        [this](const SpoolMessage& m) {
          if (away_) return Delivery::retry;
          if (m.kind == "metrics")
            for (auto& p : points_of(gunzip(m.body))) ++received_[p];
          else
            ++logs_;
          return Delivery::accepted;
        },
        std::move(taken));
    EXPECT_TRUE(push);
    return std::move(*push);
  }
  Tree tree_, spool_;
  Ns now_ = kStart;
  bool away_ = false;
  std::map<std::string, int> received_;
  int logs_ = 0;
  std::shared_ptr<Sampler> sampler_;
};

TEST_F(PushTest, CountersAreCumulativeSumsGaugesAreGaugesAndLabelsAreAttributes) {
  auto push = start("");
  sampler_->sample_once();
  push->collect();
  EXPECT_TRUE(push->deliver({}));
  EXPECT_EQ(received_["node_load1{} 1764500000000000000 0.21"], 1);
  EXPECT_EQ(
      received_
          ["node_cpu_seconds_total{cpu=0,mode=user,} 1764500000000000000 1 cumulative monotonic"],
      1);
  EXPECT_EQ(
      received_["node_context_switches_total{} 1764500000000000000 38014093 cumulative monotonic"],
      1);
}

TEST_F(PushTest, AnHourWithoutAReceiverIsDeliveredAfterwardsEachSampleOnce) {
  away_ = true;
  size_t samples = 0;
  auto push = start(spool_.path());
  for (int second = 0; second < 3600; ++second, now_ += kSecond) {
    sampler_->sample_once();
    ++samples;
    if (second % 15 == 14) push->collect();
    if (second % 300 == 0) {
      EXPECT_EQ(push->deliver({}), push->counts().spool.waiting == 0);
    }
    if (second == 1800) {
      // Restarted in the middle: what is spooled stays.
      push.reset();
      push = start(spool_.path());
    }
  }
  push->collect();
  away_ = false;
  EXPECT_TRUE(push->deliver({}));
  EXPECT_EQ(push->counts().spool.waiting, 0u);
  EXPECT_EQ(push->counts().spool.dropped_full, 0u);
  std::set<std::string> times;
  for (const auto& [point, n] : received_)
    if (point.starts_with("node_load1{}")) times.insert(point.substr(13, 19));
  EXPECT_EQ(times.size(), samples);
}

// Set by an operator, by NTP in a small step, forward and back: no sample is left out or sent
// twice.
TEST_F(PushTest, WhenTheClockJumpsEachSampleIsDeliveredOnce) {
  auto push = start(spool_.path());
  int samples = 0;
  for (const Ns jump : {3600 * kSecond, -3600 * kSecond, -3 * kSecond, kSecond / 2, Ns{0}}) {
    for (int second = 0; second < 40; ++second) {
      sampler_->sample_once();
      ++samples;
      now_ += second == 22 ? jump + kSecond / 7 : kSecond;
      if (second % 15 == 14) push->collect();
    }
    EXPECT_TRUE(push->deliver({}));
  }
  push->collect();
  EXPECT_TRUE(push->deliver({}));
  int delivered = 0;
  for (const auto& [point, n] : received_) delivered += point.starts_with("node_load1{}") ? n : 0;
  EXPECT_EQ(delivered, samples);
}

TEST_F(PushTest, ASamplingThatBeganBeforeTheLastRoundAndEndedAfterItIsDelivered) {
  auto push = start("");
  sampler_->sample_once();
  push->collect();
  now_ -= kSecond;  // as a slow source is stamped
  sampler_->sample_once();
  push->collect();
  push->deliver({});
  EXPECT_EQ(received_["node_load1{} 1764499999000000000 0.21"], 1);
}

TEST_F(PushTest, WhatOnePushTookItsSuccessorDoesNot) {
  auto push = start(spool_.path());
  sampler_->sample_once();
  push->collect();
  push->deliver({});
  now_ += kSecond;
  sampler_->sample_once();
  const Taken taken = push->stop();
  push.reset();
  push = start(spool_.path(), taken);
  now_ += kSecond;
  sampler_->sample_once();
  push->collect();
  EXPECT_TRUE(push->deliver({}));
  for (const char* time : {"1764500000", "1764500001", "1764500002"})
    EXPECT_EQ(received_["node_load1{} " + std::string(time) + "000000000 0.21"], 1) << time;
}

// Its time is up after one message: what is young is collected before the next.
TEST_F(PushTest, ASlowReceiverDoesNotKeepSamplesFromBeingCollected) {
  auto push = start("");
  for (int i = 0; i < 3; ++i, now_ += kSecond) {
    sampler_->sample_once();
    push->collect();
  }
  EXPECT_TRUE(push->deliver({}, Push::Steady::now()));
  EXPECT_EQ(push->counts().spool.waiting, 3u);
}

TEST_F(PushTest, EventsAndSettingsAreSentOnce) {
  auto push = start("");
  sampler_->store().add(Event{"xid", "gpu/node07:0", kStart, kNoTime, {{"code", "79"}}, "NVML"});
  sampler_->store().add(Setting{"host/node07", "cpu.count", "96", "/proc", kStart});
  push->collect();
  push->collect();
  push->deliver({});
  EXPECT_EQ(logs_, 1);
  sampler_->store().add(Event{"xid", "gpu/node07:0", kStart, kNoTime, {{"code", "48"}}, "NVML"});
  push->collect();
  push->deliver({});
  EXPECT_EQ(logs_, 2);
}

TEST(RetryPause, GrowsAndIsNeverTheSameForAll) {
  EXPECT_EQ(retry_pause(1, 0), kSecond);
  EXPECT_EQ(retry_pause(1, 1), 2 * kSecond);
  EXPECT_EQ(retry_pause(1000, 1), 300 * kSecond);
  EXPECT_GE(retry_pause(1000, 0), 150 * kSecond);
}

TEST(HttpTransport, SendsGzipToTheSignalsPathAndTellsLastingFromPassingRefusals) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(listener, 4), 0);
  socklen_t size = sizeof at;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size);
  PushConfig config;
  config.url = "http://127.0.0.1:" + std::to_string(ntohs(at.sin_port)) + "/";
  config.headers["Authorization"] = "Bearer x";
  const Transport send = http_transport(config, "node07");
  for (const auto& [status, want] :
       std::initializer_list<std::pair<int, Delivery>>{{200, Delivery::accepted},
                                                       {503, Delivery::retry},
                                                       {429, Delivery::retry},
                                                       {400, Delivery::refused},
                                                       {401, Delivery::retry}}) {
    std::string request;
    std::jthread server([&] {
      const int fd = ::accept(listener, nullptr, nullptr);
      char chunk[4096];
      while (request.find("BODY") == std::string::npos) {
        const ssize_t n = ::recv(fd, chunk, sizeof chunk, 0);
        if (n <= 0) break;
        request.append(chunk, static_cast<size_t>(n));
      }
      const std::string answer = "HTTP/1.1 " + std::to_string(status) +
                                 " x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
      ::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
      ::close(fd);
    });
    EXPECT_EQ(send({77, "metrics", "BODY"}), want) << status;
    server.join();
    EXPECT_TRUE(request.starts_with("POST /v1/metrics HTTP/1.1\r\n")) << request;
    EXPECT_NE(request.find("Content-Encoding: gzip\r\n"), std::string::npos);
    EXPECT_NE(request.find("Authorization: Bearer x\r\n"), std::string::npos);
    EXPECT_NE(request.find("X-Firstwait-Message: node07-77\r\n"), std::string::npos);
  }
  ::close(listener);
  EXPECT_EQ(send({78, "metrics", "BODY"}), Delivery::retry) << "nobody listens";
}

}  // namespace
}  // namespace firstwait
