// Round-trip time and retransmissions of the job's own TCP connections, by peer: inet_diag.
#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "collect/netlink.h"
#include "collect/processes.h"
#include "collect/sys_values.h"

namespace firstwait {
namespace {

constexpr Metric kMetrics[] = {
    {"firstwait_tcp_rtt_seconds", MetricKind::gauge,
     "Smoothed round-trip time, the longest of the connections to the peer.", 1'000'000},
    {"firstwait_tcp_retransmits_total", MetricKind::counter,
     "Segments sent again to the peer, since the connections are watched."},
    {"firstwait_tcp_connections", MetricKind::gauge, "Connections of the job to the peer."},
    {"firstwait_tcp_sent_bytes_total", MetricKind::counter,
     "Bytes that the peer acknowledged, since the connections are watched."}};

constexpr unsigned kEstablished =
    1;  // TCP_ESTABLISHED, which two headers define against each other

struct Connection {
  uint32_t retransmits = 0;
  uint64_t acknowledged = 0;
  uint64_t round = 0;
};

struct Peer {
  SeriesId ids[4];
  int64_t rtt = 0, retransmits = 0, connections = 0, bytes = 0;
};

bool is_loopback(const inet_diag_msg& m) {
  if (m.idiag_family == AF_INET) return (ntohl(m.id.idiag_dst[0]) >> 24) == 127;
  const in6_addr* address = reinterpret_cast<const in6_addr*>(m.id.idiag_dst);
  return IN6_IS_ADDR_LOOPBACK(address) != 0;
}

std::string peer_of(const inet_diag_msg& m) {
  char text[INET6_ADDRSTRLEN] = {};
  const auto* bytes = reinterpret_cast<const unsigned char*>(m.id.idiag_dst);
  constexpr unsigned char kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (m.idiag_family == AF_INET6 && std::memcmp(bytes, kMapped, sizeof kMapped) == 0)
    ::inet_ntop(AF_INET, bytes + 12, text, sizeof text);
  else
    ::inet_ntop(m.idiag_family, bytes, text, sizeof text);
  return text;
}

class Tcp final : public Sampling {
 public:
  explicit Tcp(const World& world) : root_(world.root), processes_(world.processes) {}
  ~Tcp() override {
    if (fd_ >= 0) ::close(fd_);
  }

  Presence sample(Out& out) override {
    if (!root_.live() || !processes_) return Presence::absent;
    if (sockets_due_.due(out.now()) || processes_->generation() != generation_) find_sockets();
    if (sockets_.empty()) return Presence::idle;
    if (fd_ < 0) fd_ = ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd_ < 0) return presence_of(errno);
    timeval patience{0, 500'000};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ++round_;
    for (auto& [name, p] : peers_) p.rtt = p.connections = 0;
    for (const uint8_t family : {uint8_t{AF_INET}, uint8_t{AF_INET6}})
      if (!dump(family, out)) return Presence::broken;
    std::erase_if(connections_, [&](const auto& c) { return c.second.round != round_; });
    for (auto it = peers_.begin(); it != peers_.end();) {
      Peer& p = it->second;
      if (p.connections == 0) {
        for (const SeriesId id : p.ids) out.release(id);
        it = peers_.erase(it);
        continue;
      }
      const int64_t values[] = {p.rtt, p.retransmits, p.connections, p.bytes};
      for (size_t i = 0; i < 4; ++i) out.put(p.ids[i], values[i]);
      ++it;
    }
    return Presence::present;
  }

 private:
  // The inodes of the sockets that the job's processes hold.
  void find_sockets() {
    generation_ = processes_->generation();
    sockets_.clear();
    for (const JobProcess& p : processes_->list()) {
      if (p.role == ProcessRole::other) continue;
      const std::string dir = root_.proc + "/" + std::to_string(p.pid) + "/fd";
      for (const std::string& fd : list_directory(dir, 65536)) {
        char target[64];
        const ssize_t n = ::readlink((dir + "/" + fd).c_str(), target, sizeof target - 1);
        if (n <= 9) continue;
        const std::string_view text(target, static_cast<size_t>(n));
        int64_t inode = 0;
        if (text.starts_with("socket:[") && whole_number(text.substr(8, text.size() - 9), inode) &&
            inode <= UINT32_MAX)
          sockets_.insert(static_cast<uint32_t>(inode));
      }
    }
  }

  bool dump(uint8_t family, Out& out) {
    struct {
      nlmsghdr header;
      inet_diag_req_v2 request;
    } ask{};
    ask.header.nlmsg_len = sizeof ask;
    ask.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    ask.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    ask.header.nlmsg_seq = ++sequence_;
    ask.request.sdiag_family = family;
    ask.request.sdiag_protocol = IPPROTO_TCP;
    ask.request.idiag_states = 1u << kEstablished;
    ask.request.idiag_ext = 1u << (INET_DIAG_INFO - 1);
    if (::send(fd_, &ask, sizeof ask, 0) != static_cast<ssize_t>(sizeof ask)) return false;
    const DumpEnd end = read_dump(fd_, sequence_, [&](nlmsghdr& h) {
      if (h.nlmsg_len >= NLMSG_LENGTH(sizeof(inet_diag_msg))) one(h, out);
    });
    // A machine without IPv6 refuses.
    return end == DumpEnd::done || (end == DumpEnd::refused && family == AF_INET6);
  }

  void one(nlmsghdr& h, Out& out) {
    inet_diag_msg m;
    std::memcpy(&m, NLMSG_DATA(&h), sizeof m);
    if (!sockets_.contains(m.idiag_inode) || is_loopback(m)) return;
    tcp_info info{};
    bool known = false;
    auto* a = reinterpret_cast<rtattr*>(static_cast<char*>(NLMSG_DATA(&h)) + NLMSG_ALIGN(sizeof m));
    auto left = static_cast<int>(h.nlmsg_len - NLMSG_LENGTH(sizeof m));
    for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
      if (a->rta_type != INET_DIAG_INFO) continue;
      std::memcpy(&info, RTA_DATA(a), std::min<size_t>(RTA_PAYLOAD(a), sizeof info));
      known = true;
    }
    if (!known) return;
    const std::string name = peer_of(m);
    auto found = peers_.find(name);
    if (found == peers_.end()) {
      if (peers_.size() >= kPeers) return;
      Peer fresh{};
      for (size_t i = 0; i < 4; ++i) fresh.ids[i] = out.series(kMetrics[i], {{"peer", name}});
      found = peers_.emplace(name, fresh).first;
    }
    Peer& p = found->second;
    Connection& c = connections_[m.idiag_inode];
    const bool fresh = c.round == 0;
    // Counters of connections begin at nothing here: of one that was there before, only what
    // follows counts.
    if (!fresh && info.tcpi_total_retrans > c.retransmits)
      p.retransmits += info.tcpi_total_retrans - c.retransmits;
    if (!fresh && info.tcpi_bytes_acked > c.acknowledged)
      p.bytes += static_cast<int64_t>(info.tcpi_bytes_acked - c.acknowledged);
    c = {info.tcpi_total_retrans, info.tcpi_bytes_acked, round_};
    p.rtt = std::max<int64_t>(p.rtt, info.tcpi_rtt);
    ++p.connections;
  }

  static constexpr size_t kPeers = 1024;
  Root root_;
  std::shared_ptr<Processes> processes_;
  int fd_ = -1;
  uint32_t sequence_ = 0;
  uint64_t round_ = 0, generation_ = UINT64_MAX;
  Occasionally sockets_due_{Ns{10} * 1'000'000'000};
  std::set<uint32_t> sockets_;
  std::map<uint32_t, Connection> connections_;
  std::map<std::string, Peer> peers_;
};

}  // namespace

extern const Collector collector_tcp{
    .name = "tcp",
    .what = "round-trip time and retransmissions of the job's own TCP connections, by peer",
    .metrics = kMetrics,
    .reads = "inet_diag (netlink), /proc/PID/fd",
    .needs =
        "the same user as the job, or CAP_SYS_PTRACE (which sockets are the job's); the job's "
        "network namespace",
    .period = 5'000'000'000,
    .make = [](const World& w) -> std::unique_ptr<Sampling> { return std::make_unique<Tcp>(w); }};

}  // namespace firstwait
