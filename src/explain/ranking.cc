#include "explain/ranking.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "explain/late_groups.h"
#include "explain/late_steps.h"
#include "explain/signals.h"
#include "explain/weigh.h"

namespace firstwait {
namespace {

// A shallow cause is how a deep one shows: when both are supported it becomes a link of the deep
// one's chain.
struct Layer {
  std::string_view deep;  // id, or family with a trailing dot
  std::string_view shallow;
  bool elsewhere = false;  // the shallow one may show at another place: who sends sends again
  bool (*only_if)(const View&) = nullptr;
};

// What makes ranks late is the wait for input.
bool late_by_input(const View& view) {
  const auto groups = persistent_groups(view);
  if (groups.empty()) return late_steps(view).wait_for_input();
  const auto phase = late_phase(view, groups.front());
  return phase && phase->phase == Phase::input_wait;
}

constexpr Layer kLayers[] = {
    {"contention.storage", "storage.throughput_ceiling"},
    {"contention.storage", "storage.iops_ceiling"},
    {"contention.storage", "storage.latency"},
    {"contention.cpu", "input.cpu_saturated"},
    {"contention.network", "network.congestion"},
    {"contention.gpu", "gpu.shared"},
    {"network.link_flap", "network.loss_retransmission", true},
    {"network.link_errors", "network.loss_retransmission", true},
    // What memory does not hold is read again.
    {"input.memory_pressure", "storage.throughput_ceiling"},
    {"input.memory_pressure", "storage.iops_ceiling"},
    {"input.memory_pressure", "storage.cold_cache"},
    {"input.cpu_entitlement", "input.cpu_saturated"},
    {"input.cpu_entitlement", "input.thread_oversubscription"},
    {"input.cpu_entitlement", "change.resources"},
    {"workload.checkpoint_growth", "workload.checkpoint_stall"},
    {"workload.checkpoint_stall", "workload.periodic_work"},
    {"workload.evaluation", "workload.periodic_work"},
    {"workload.gc_pause", "workload.periodic_work"},
    {"workload.logging_stall", "workload.periodic_work"},
    {"input.worker_respawn", "workload.periodic_work"},
    {"workload.gc_pause", "sync.rotating_straggler"},
    {"input.", "sync.rotating_straggler", false, late_by_input},
    {"storage.", "sync.rotating_straggler", false, late_by_input},
    {"network.", "sync.rotating_straggler", false, late_by_input},
    {"contention.cpu", "sync.rotating_straggler"},
    {"contention.storage", "sync.rotating_straggler", false, late_by_input},
    {"input.thread_oversubscription", "sync.rotating_straggler"},
    {"input.cpu_saturated", "sync.rotating_straggler"},
    {"gpu.", "sync.straggler"},
    {"node.", "sync.straggler"},
    {"storage.", "sync.straggler", true,
     late_by_input},  // a server's slowness shows at its clients
    {"storage.", "sync.straggler"},
    {"network.", "sync.straggler"},
    {"input.", "sync.straggler"},
    {"contention.", "sync.straggler"},
    // Rank 0 logs and saves, and the others wait for it.
    {"workload.logging_stall", "sync.straggler"},
    {"workload.checkpoint_stall", "sync.straggler"},
    {"workload.checkpoint_growth", "sync.straggler"},
    {"workload.gc_pause", "sync.straggler"},
    {"workload.host_sync", "sync.straggler"},
    {"sync.stage_imbalance", "sync.straggler"},
};

bool names(std::string_view pattern, std::string_view id) {
  return pattern.back() == '.' ? id.starts_with(pattern) : id == pattern;
}

// Two verdicts speak of the same place when one says nothing of where, or they share an entity.
bool same_place(const Verdict& a, const Verdict& b) {
  if (a.where.empty() || b.where.empty()) return true;
  return std::any_of(a.where.begin(), a.where.end(), [&](const std::string& place) {
    return std::find(b.where.begin(), b.where.end(), place) != b.where.end();
  });
}

// A deep cause that accounts for less than half of what the shallow one costs does not explain it.
bool covers(const Verdict& deep, const Verdict& shallow) {
  if (!deep.effect || !shallow.effect) return true;
  const double d = deep.effect->seconds_per_step, s = shallow.effect->seconds_per_step;
  return !(d < 0.5 * s);
}

std::optional<Phase> cell_of(const View& view, const Hypothesis& h) {
  std::optional<Phase> best;
  double most = 0;
  for (const Phase p : h.accounts_for) {
    const double excess = phase_excess(view, p);
    if (excess > most) {
      most = excess;
      best = p;
    }
  }
  return best;
}

double log_odds(const Tested& t, double doubt) {
  return t.hypothesis->prior + t.verdict.llr - doubt;
}

}  // namespace

std::vector<Tested> test_all(const View& view) {
  std::vector<Tested> out;
  for (const auto& entry : hypotheses()) {
    Tested t;
    t.hypothesis = entry.module;
    t.verdict = entry.module->test(view);
    if (t.verdict.outcome == Outcome::untested && t.verdict.needs.empty())
      t.verdict.needs.assign(entry.module->needs.begin(), entry.module->needs.end());
    out.push_back(std::move(t));
  }
  return out;
}

namespace {
// A link of a link belongs to the cause at the end: that one is the finding.
void follow_to_the_root(std::vector<Tested>& tested) {
  std::map<const Hypothesis*, const Hypothesis*> deeper;
  for (const auto& t : tested)
    if (t.deeper != nullptr) deeper[t.hypothesis] = t.deeper;
  for (auto& t : tested)
    for (size_t links = 0; t.deeper != nullptr && links < deeper.size(); ++links) {
      const auto next = deeper.find(t.deeper);
      if (next == deeper.end()) break;
      t.deeper = next->second;
    }
}
}  // namespace

void rank(const View& view, double doubt, std::vector<Tested>& tested) {
  const auto supported = [](const Tested& t) { return t.verdict.outcome == Outcome::supported; };
  for (auto& t : tested)
    if (supported(t)) t.cell = cell_of(view, *t.hypothesis);
  // A deep cause must itself be more likely than not before it swallows a shallow one.
  for (auto& shallow : tested) {
    if (!supported(shallow)) continue;
    const Tested* best = nullptr;
    for (const auto& deep : tested) {
      if (!supported(deep) || &deep == &shallow || log_odds(deep, doubt) <= 0) continue;
      const Layer* const layer =
          std::find_if(std::begin(kLayers), std::end(kLayers), [&](const Layer& l) {
            return names(l.deep, deep.hypothesis->id) && names(l.shallow, shallow.hypothesis->id) &&
                   (l.only_if == nullptr || l.only_if(view));
          });
      const bool known = layer != std::end(kLayers);
      const bool changed = shallow.hypothesis->id.starts_with("change.") &&
                           !deep.hypothesis->id.starts_with("change.") &&
                           view.attribution.onset.has_value() && deep.cell.has_value() &&
                           deep.cell == shallow.cell;
      if (!known && !changed) continue;
      if (!(known && layer->elsewhere) && !same_place(deep.verdict, shallow.verdict)) continue;
      if (!covers(deep.verdict, shallow.verdict)) continue;
      if (best == nullptr || log_odds(deep, doubt) > log_odds(*best, doubt)) best = &deep;
    }
    if (best != nullptr) shallow.deeper = best->hypothesis;
  }
  follow_to_the_root(tested);
  for (auto& t : tested) {
    if (!supported(t) || t.deeper != nullptr) continue;
    double rivals = 0;
    for (const auto& other : tested)
      if (supported(other) && other.deeper == nullptr && t.cell.has_value() && other.cell == t.cell)
        rivals += std::exp(log_odds(other, doubt));
    const double own = std::exp(log_odds(t, doubt));
    t.confidence = std::min(kMostConfidence, own / (1 + std::max(own, rivals)));
  }
}

// Import's counter of data that was changed after it was written.
constexpr std::string_view kGarbled = "corrupt_archive";

double doubt_from_health(const Evidence& evidence) {
  std::set<std::string_view> lossy, garbled;
  for (const auto& entry : evidence.health.entries()) {
    if (entry.counter->severity == Severity::data_loss) lossy.insert(entry.source);
    if (entry.counter->name == kGarbled) garbled.insert(entry.source);
  }
  double read = 0, wrong = 0;
  for (const auto& source : evidence.sources) {
    read += static_cast<double>(source.bytes);
    if (garbled.contains(source.path)) wrong += static_cast<double>(source.bytes);
  }
  return std::min(1.5, 0.5 * static_cast<double>(lossy.size())) +
         (wrong > 0 ? kVeryStrong * wrong / read : 0);
}

}  // namespace firstwait
