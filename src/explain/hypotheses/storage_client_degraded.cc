#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/stats.h"
#include "explain/input_signals.h"
#include "explain/storage_signals.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {
    "node_mountstats_nfs_operations_* of two clients of one export"};
constexpr Threshold kThresholds[] = {kRelevantShare, kLatencyRise};

Verdict test(const View& view) {
  Weighing w;
  std::map<std::string, std::vector<StorageUse>> clients;
  for (auto& u : storage_uses(view))
    if (u.shared && known_now(u.latency)) clients[u.entity].push_back(std::move(u));
  std::erase_if(clients, [](const auto& c) { return c.second.size() < 2; });
  if (clients.empty()) return untested({kNeeds[0]});
  if (!w.gate(stake(view, kStoragePhases))) return std::move(w).verdict("", {});
  std::string because, alike;
  double spread = -1;
  for (const auto& [storage, list] : clients) {
    const auto worst = std::max_element(list.begin(), list.end(), [](const auto& a, const auto& b) {
      return a.latency.now < b.latency.now;
    });
    std::vector<double> peers;
    for (const auto& u : list)
      if (u.host != worst->host) peers.push_back(u.latency.now);
    const double normal = median(peers), ratio_to_peers = worst->latency.now / normal;
    auto e = row("time of a read on this client", "node_mountstats_nfs_operations", worst->host,
                 worst->latency, "s", true);
    if (ratio_to_peers < kLatencyRise.value) {
      if (ratio_to_peers > spread) {
        spread = ratio_to_peers;
        alike = fmt::format("clients differ by {}: {} and {}", times(ratio_to_peers),
                            seconds(worst->latency.now), seconds(normal));
      }
      continue;
    }
    // With one peer only, either may be the odd one.
    w.supports(peers.size() >= 2 ? kStrong : kPositive, std::move(e))
        .where(worst->host)
        .where(storage);
    w.hints(0, fact("other clients of the same storage", "node_mountstats_nfs_operations", storage,
                    normal, "s", true));
    w.link("Reads slow on one client", worst->host,
           fmt::format("{}, others {}", seconds(worst->latency.now), seconds(normal)));
    because = fmt::format("{} reads from {} in {}, its peers in {}",
                          worst->host.substr(worst->host.find('/') + 1), worst->name,
                          seconds(worst->latency.now), seconds(normal));
    break;
  }
  if (!w.decided())
    w.contradicts(kStrong, alike,
                  fact("slowest client against its peers", "node_mountstats_nfs_operations", "",
                       spread, "ratio", false));
  return std::move(w).verdict(because, {});
}

}  // namespace

extern const Hypothesis hypothesis_storage_client_degraded{
    .id = "storage.client_degraded",
    .claim = "one client is slow, others fine on the same server",
    .decides = "clients of the same storage compared",
    .accounts_for = kStoragePhases,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 4,
    .prior = 0,
    .test = test};

}  // namespace firstwait
