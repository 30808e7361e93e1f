// What a network card's own statistics say of pauses and drops: ETHTOOL_GSTATS.
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "collect/ethtool_names.h"
#include "collect/sys_values.h"

namespace firstwait {
namespace {

constexpr Metric kMetrics[] = {
    {"firstwait_ethtool_pause_received_total", MetricKind::counter,
     "Pause frames received: the switch or the peer asked this card to stop sending."},
    {"firstwait_ethtool_pause_sent_total", MetricKind::counter,
     "Pause frames sent: this machine could not take what arrived."},
    {"firstwait_ethtool_priority_pause_received_total", MetricKind::counter,
     "Priority pause frames received, by priority."},
    {"firstwait_ethtool_priority_pause_sent_total", MetricKind::counter,
     "Priority pause frames sent, by priority."},
    {"firstwait_ethtool_received_drops_total", MetricKind::counter,
     "Frames that the card dropped on arrival, by its own counter."},
    {"firstwait_ethtool_sent_drops_total", MetricKind::counter,
     "Frames that the card dropped instead of sending, by its own counter."},
    {"firstwait_ethtool_errors_total", MetricKind::counter,
     "Errors on the wire, by the card's own counter."}};

struct Counter {
  size_t position;
  SeriesId id;
};
struct Card {
  std::string name;
  uint32_t statistics = 0;
  std::vector<Counter> counters;
};

class Ethtool final : public Sampling {
 public:
  explicit Ethtool(const World& world)
      : live_(world.root.live()), dir_(world.root.sys + "/class/net") {}
  ~Ethtool() override {
    if (fd_ >= 0) ::close(fd_);
  }

  Presence sample(Out& out) override {
    if (!live_) return Presence::absent;
    if (fd_ < 0) fd_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd_ < 0) return presence_of(errno);
    if (search_.due(out.now())) search(out);
    bool any = false;
    for (Card& c : cards_) {
      buffer_.assign(sizeof(ethtool_stats) + size_t{c.statistics} * 8, 0);
      auto* stats = reinterpret_cast<ethtool_stats*>(buffer_.data());
      stats->cmd = ETHTOOL_GSTATS;
      stats->n_stats = c.statistics;
      if (!call(c.name, stats) || stats->n_stats != c.statistics) continue;
      for (const Counter& counter : c.counters) {
        uint64_t value = 0;
        std::memcpy(&value, buffer_.data() + sizeof(ethtool_stats) + counter.position * 8, 8);
        if (value <= static_cast<uint64_t>(INT64_MAX))
          out.put(counter.id, static_cast<int64_t>(value));
        any = true;
      }
    }
    return any ? Presence::present : Presence::absent;
  }

 private:
  bool call(const std::string& device, void* data) const {
    ifreq request{};
    std::strncpy(request.ifr_name, device.c_str(), IFNAMSIZ - 1);
    request.ifr_data = static_cast<char*>(data);
    return ::ioctl(fd_, SIOCETHTOOL, &request) == 0;
  }

  void search(Out& out) {
    std::vector<Card> before = std::move(cards_);
    cards_.clear();
    for (const std::string& name : list_directory(dir_, 256)) {
      if (name == "lo" || name.size() >= IFNAMSIZ) continue;
      Card card{name, 0, {}};
      // The set's size follows the request.
      alignas(ethtool_sset_info) char request[sizeof(ethtool_sset_info) + sizeof(uint32_t)] = {};
      auto* info = reinterpret_cast<ethtool_sset_info*>(request);
      info->cmd = ETHTOOL_GSSET_INFO;
      info->sset_mask = 1ull << ETH_SS_STATS;
      if (!call(name, info) || info->sset_mask == 0) continue;
      uint32_t size = 0;
      std::memcpy(&size, request + sizeof(ethtool_sset_info), sizeof size);
      if (size == 0 || size > 65536) continue;
      card.statistics = size;
      std::string strings(sizeof(ethtool_gstrings) + size_t{size} * ETH_GSTRING_LEN, '\0');
      auto* ask = reinterpret_cast<ethtool_gstrings*>(strings.data());
      ask->cmd = ETHTOOL_GSTRINGS;
      ask->string_set = ETH_SS_STATS;
      ask->len = size;
      if (!call(name, ask)) continue;
      for (size_t i = 0; i < size; ++i) {
        const char* text = strings.data() + sizeof(ethtool_gstrings) + i * ETH_GSTRING_LEN;
        const auto meaning = ethtool_meaning({text, ::strnlen(text, ETH_GSTRING_LEN)});
        if (meaning.kind == EthtoolKind::none) continue;
        std::vector<Label> labels = {{"device", name}};
        if (!meaning.priority.empty()) labels.push_back({"priority", meaning.priority});
        if (!meaning.counter.empty()) labels.push_back({"counter", meaning.counter});
        card.counters.push_back(
            {i, out.series(kMetrics[static_cast<size_t>(meaning.kind) - 1], labels)});
      }
      if (!card.counters.empty()) cards_.push_back(std::move(card));
    }
    for (const Card& b : before)
      if (std::none_of(cards_.begin(), cards_.end(),
                       [&](const Card& c) { return c.name == b.name; }))
        for (const Counter& c : b.counters) out.release(c.id);
  }

  bool live_;
  std::string dir_, buffer_;
  int fd_ = -1;
  Occasionally search_;
  std::vector<Card> cards_;
};

}  // namespace

extern const Collector collector_ethtool{
    .name = "ethtool",
    .what = "pause frames, drops and errors as each network card counts them itself",
    .metrics = kMetrics,
    .reads = "SIOCETHTOOL (ETHTOOL_GSTATS)",
    .needs = "the host's network namespace; a driver that has these counters",
    .period = 5'000'000'000,  // some drivers ask the card's firmware
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Ethtool>(w);
    }};

}  // namespace firstwait
