// Queues in front of the network cards: backlog, drops, requeues: rtnetlink.
#include <linux/gen_stats.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "collect/collector.h"
#include "collect/netlink.h"

namespace firstwait {
namespace {

constexpr MetricKind kC = MetricKind::counter, kG = MetricKind::gauge;
constexpr Metric kMetrics[] = {
    {"node_qdisc_bytes_total", kC, "Number of bytes sent."},
    {"node_qdisc_packets_total", kC, "Number of packets sent."},
    {"node_qdisc_drops_total", kC, "Number of packets dropped."},
    {"node_qdisc_requeues_total", kC, "Number of packets dequeued, not transmitted, and requeued."},
    {"node_qdisc_overlimits_total", kC, "Number of packets dropped due to overlimits."},
    {"node_qdisc_current_queue_length", kG, "Number of packets currently in queue to be sent."},
    {"node_qdisc_backlog", kG, "Number of bytes currently in queue to be sent."}};
constexpr size_t kCount = std::size(kMetrics);

struct Queue {
  SeriesId ids[kCount];
};

class Qdisc final : public Sampling {
 public:
  explicit Qdisc(const World& world) : live_(world.root.live()) {}
  ~Qdisc() override {
    if (fd_ >= 0) ::close(fd_);
  }

  Presence sample(Out& out) override {
    if (!live_) return Presence::absent;
    if (fd_ < 0) fd_ = ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd_ < 0) return presence_of(errno);
    timeval patience{0, 500'000};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    struct {
      nlmsghdr header;
      tcmsg body;
    } ask{};
    ask.header.nlmsg_len = sizeof ask;
    ask.header.nlmsg_type = RTM_GETQDISC;
    ask.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    ask.header.nlmsg_seq = ++sequence_;
    ask.body.tcm_family = AF_UNSPEC;
    if (::send(fd_, &ask, sizeof ask, 0) != static_cast<ssize_t>(sizeof ask))
      return presence_of(errno);
    queues_.begin();
    const bool good = receive(out);
    queues_.sweep([&](const Queue& q) {
      for (const SeriesId id : q.ids) out.release(id);
    });
    // A card without a queue may be given one at any time.
    return !good ? Presence::broken : queues_.size() == 0 ? Presence::idle : Presence::present;
  }

 private:
  bool receive(Out& out) {
    const DumpEnd end = read_dump(fd_, sequence_, [&](nlmsghdr& h) {
      if (h.nlmsg_type == RTM_NEWQDISC && h.nlmsg_len >= NLMSG_LENGTH(sizeof(tcmsg))) one(h, out);
    });
    return end == DumpEnd::done;
  }

  void one(nlmsghdr& h, Out& out) {
    tcmsg t;
    std::memcpy(&t, NLMSG_DATA(&h), sizeof t);
    if (t.tcm_parent != TC_H_ROOT) return;  // the queues below count in it
    std::string kind;
    gnet_stats_basic basic{};
    gnet_stats_queue queue{};
    bool known = false;
    auto* a = reinterpret_cast<rtattr*>(static_cast<char*>(NLMSG_DATA(&h)) + NLMSG_ALIGN(sizeof t));
    auto left = static_cast<int>(h.nlmsg_len - NLMSG_LENGTH(sizeof t));
    for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
      if (a->rta_type == TCA_KIND) {
        const auto* text = static_cast<const char*>(RTA_DATA(a));
        kind.assign(text, ::strnlen(text, RTA_PAYLOAD(a)));
      }
      if ((a->rta_type & NLA_TYPE_MASK) != TCA_STATS2) continue;
      auto* inner = static_cast<rtattr*>(RTA_DATA(a));
      auto inner_left = static_cast<int>(RTA_PAYLOAD(a));
      for (; RTA_OK(inner, inner_left); inner = RTA_NEXT(inner, inner_left)) {
        if (inner->rta_type == TCA_STATS_BASIC)
          std::memcpy(&basic, RTA_DATA(inner), std::min<size_t>(RTA_PAYLOAD(inner), sizeof basic)),
              known = true;
        if (inner->rta_type == TCA_STATS_QUEUE)
          std::memcpy(&queue, RTA_DATA(inner), std::min<size_t>(RTA_PAYLOAD(inner), sizeof queue));
      }
    }
    char device[IF_NAMESIZE] = {};
    if (!known || ::if_indextoname(static_cast<unsigned>(t.tcm_ifindex), device) == nullptr ||
        kind == "noqueue")
      return;
    Queue* q = queues_.get(std::string(device) + ' ' + kind, [&](std::string_view) {
      Queue fresh{};
      for (size_t i = 0; i < kCount; ++i)
        fresh.ids[i] = out.series(kMetrics[i], {{"device", device}, {"kind", kind}});
      return fresh;
    });
    const int64_t values[kCount] = {static_cast<int64_t>(basic.bytes),
                                    basic.packets,
                                    queue.drops,
                                    queue.requeues,
                                    queue.overlimits,
                                    queue.qlen,
                                    queue.backlog};
    for (size_t i = 0; q != nullptr && i < kCount; ++i) out.put(q->ids[i], values[i]);
  }

  bool live_;
  int fd_ = -1;
  uint32_t sequence_ = 0;
  ByPosition<Queue> queues_;
};

}  // namespace

extern const Collector collector_qdisc{
    .name = "qdisc",
    .what = "queues in front of the network cards: backlog, drops, requeues",
    .metrics = kMetrics,
    .reads = "RTM_GETQDISC (netlink)",
    .needs = "the host's network namespace",
    .period = 5'000'000'000,
    .make = [](const World& w) -> std::unique_ptr<Sampling> { return std::make_unique<Qdisc>(w); }};

}  // namespace firstwait
