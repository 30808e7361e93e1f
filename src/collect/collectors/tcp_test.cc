#include <arpa/inet.h>
#include <ifaddrs.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collect/processes.h"
#include "collect/testing/bench.h"

namespace firstwait {
extern const Collector collector_tcp;
namespace {

// An address of this machine that is not loopback; 0: none.
uint32_t own_address() {
  ifaddrs* all = nullptr;
  uint32_t out = 0;
  if (::getifaddrs(&all) != 0) return 0;
  for (const ifaddrs* i = all; i != nullptr; i = i->ifa_next)
    if (i->ifa_addr != nullptr && i->ifa_addr->sa_family == AF_INET) {
      const uint32_t address = reinterpret_cast<sockaddr_in*>(i->ifa_addr)->sin_addr.s_addr;
      if (ntohl(address) >> 24 != 127) out = address;
    }
  ::freeifaddrs(all);
  return out;
}

TEST(Tcp, ConnectionsOfTheJobByPeerAndNobodyElses) {
  const uint32_t address = own_address();
  if (address == 0) GTEST_SKIP() << "this machine has no address but loopback";
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = address;
  socklen_t size = sizeof at;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size);
  const int client = ::socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  const int server = ::accept(listener, nullptr, nullptr);

  auto processes = std::make_shared<Processes>(Processes::Options{{::getpid()}, {}, false});
  processes->tell(::getpid(), 0, ProcessRole::trainer);
  processes->search(Root{});
  Bench bench(collector_tcp, World{Root{}, "node01", "", processes});
  auto got = bench.sample();
  if (bench.presence() != Presence::present) GTEST_SKIP() << "no inet_diag here";
  char text[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, &address, text, sizeof text);
  const std::string l = std::string("{peer=\"") + text + "\"}";
  EXPECT_EQ(got.at("firstwait_tcp_connections" + l), 2);  // both ends are ours
  EXPECT_GT(got.at("firstwait_tcp_rtt_seconds" + l), 0);
  EXPECT_LT(got.at("firstwait_tcp_rtt_seconds" + l), 1);
  const std::string data(100'000, 'x');
  ASSERT_EQ(::send(client, data.data(), data.size(), 0), static_cast<ssize_t>(data.size()));
  std::string into(data.size(), 0);
  for (size_t n = 0; n < data.size();)
    n += static_cast<size_t>(::recv(server, into.data(), into.size(), 0));
  ::usleep(50'000);
  EXPECT_EQ(bench.sample().at("firstwait_tcp_sent_bytes_total" + l), 100'000);
  for (const int fd : {client, server, listener}) ::close(fd);
}

TEST(Tcp, WithoutAJobItIsIdle) {
  Bench bench(collector_tcp, World{Root{}, "node01", "", std::make_shared<Processes>()});
  EXPECT_TRUE(bench.sample().empty());
  EXPECT_EQ(bench.presence(), Presence::idle);
}

}  // namespace
}  // namespace firstwait
