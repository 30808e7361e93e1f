#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/stats.h"
#include "explain/input_signals.h"
#include "explain/storage_signals.h"
#include "explain/workload_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::input_wait, Phase::unexplained};
constexpr std::string_view kNeeds[] = {"steps with their epoch",
                                       "dataset.bytes and node_memory_MemTotal_bytes",
                                       "node_disk_read_bytes_total"};
constexpr Threshold kFirst{"first epoch against later ones", 2, "ratio",
                           "attributable fraction (RR - 1) / RR: from 2 on, most of the first "
                           "epoch is not the usual work"};
constexpr Threshold kFits{"data set against memory", 1, "ratio",
                          "a set larger than memory cannot stay in the page cache"};
constexpr Threshold kThresholds[] = {kRelevantShare, kFirst, kSlowRatio, kFits};

// Mean step of the first epoch and of the later ones; later has at least two epochs.
struct Epochs {
  double first_s = kNaN, later_s = kNaN;
  double first_wait_s = kNaN, later_wait_s = kNaN;  // for input; NaN where it is not recorded
  size_t count = 0, first_steps = 0, steps = 0;
  Ns from = kNoTime, turn = kNoTime, to = kNoTime;  // of the first epoch, and the end of all
};

// Bytes read per second in the first epoch over those after it; NaN unknown.
double reads_then_and_later(const View& view, const Epochs& e) {
  if (e.from == kNoTime || e.turn == kNoTime || e.to == kNoTime) return kNaN;
  Attribution windows;
  windows.baseline.empty = windows.current.empty = false;
  windows.baseline.from = e.from;
  windows.baseline.to = windows.current.from = e.turn;
  windows.current.to = e.to;
  const View split{view.evidence, windows};
  double then = 0, later = 0;
  for (const auto& u : by_storage(storage_uses(split)))
    if (u.bytes.has_before() && known_now(u.bytes)) then += u.bytes.before, later += u.bytes.now;
  return then > 0 ? then / std::max(later, 1.0) : kNaN;
}

Epochs epochs(const View& view) {
  std::map<int32_t, std::vector<double>> by_epoch;
  std::vector<size_t> times;
  const auto& t = view.evidence.steps;
  for (size_t i = 0; i < t.size() && i < t.epoch.size(); ++i)
    if (t.epoch[i] >= 0 && (i >= t.kind.size() || t.kind[i] == StepKind::train))
      by_epoch[t.epoch[i]].push_back(static_cast<double>(t.duration[i]) * 1e-9), times.push_back(i);
  Epochs e;
  e.count = by_epoch.size();
  if (e.count < 3) return e;
  for (const size_t i : times) {
    if (t.start[i] == kNoTime) continue;
    const bool first = t.epoch[i] == by_epoch.begin()->first;
    const Ns end = t.start[i] + t.duration[i];
    if (first && (e.from == kNoTime || t.start[i] < e.from)) e.from = t.start[i];
    if (first) e.turn = std::max(e.turn, end);
    e.to = std::max(e.to, end);
  }
  std::vector<double> later;
  for (auto it = std::next(by_epoch.begin()); it != by_epoch.end(); ++it)
    later.insert(later.end(), it->second.begin(), it->second.end());
  std::vector<double> first_waits, later_waits;
  for (const size_t i : times)
    if (const Ns wait = t.phase(i, Phase::input_wait); wait != kNoDuration)
      (t.epoch[i] == by_epoch.begin()->first ? first_waits : later_waits)
          .push_back(static_cast<double>(wait) * 1e-9);
  if (!first_waits.empty() && !later_waits.empty()) {
    e.first_wait_s = mean(first_waits);
    e.later_wait_s = mean(later_waits);
  }
  e.first_steps = by_epoch.begin()->second.size();
  e.steps = e.first_steps + later.size();
  e.first_s = mean(by_epoch.begin()->second);
  e.later_s = mean(later);
  return e;
}

void weigh_size(Weighing& w, const View& view, double reads, std::string& because) {
  const auto size = setting_number(view, "dataset.bytes");
  const auto memory = gauge(view, "node_memory_MemTotal_bytes");
  double room = memory.empty() ? kNaN : memory.front().now;
  for (const auto& r : gauge(view, "firstwait_cgroup_memory_limit_bytes"))
    if (r.now > 0 && !(room <= r.now)) room = r.now;
  if (!size || !(room > 0)) return;
  auto e =
      fact("data set against memory", "dataset.bytes", "", *size / room, "ratio", *size > room);
  if (*size <= kFits.value * room) {
    w.contradicts(kPositive,
                  fmt::format("the data set ({}) fits in {} of memory", bytes(*size), bytes(room)),
                  std::move(e));
  } else if (reads > 0) {
    w.supports(kPositive, std::move(e));
    w.hints(0.5, fact("reads go on", "read_bytes", "", reads, "bytes/s", true));
    because =
        fmt::format("the data set of {} does not fit in {} of memory and is read anew each epoch",
                    bytes(*size), bytes(room));
  }
}

Verdict test(const View& view) {
  Weighing w;
  const auto uses = by_storage(storage_uses(view));
  const bool seen = has_metric(view, "node_disk_read_bytes_total") ||
                    has_metric(view, "node_mountstats_nfs_read_bytes_total");
  double reads = seen ? 0 : kNaN;
  for (const auto& u : uses)
    if (known_now(u.bytes)) reads += u.bytes.now;
  const auto e = epochs(view);
  std::string because;
  double cost = kNaN;
  const double dried_up = reads_then_and_later(view, e);
  const bool cached = dried_up >= kFirst.value && e.first_s >= kSlowRatio.value * e.later_s;
  if (cached || e.first_s >= kFirst.value * e.later_s) {
    auto r = fact("a step of the first epoch against later ones", "steps.epoch", "",
                  e.first_s / e.later_s, "ratio", true);
    // Start-up work does the same to the first epoch: reads that stop tell them apart.
    w.supports(reads == reads ? kPositive : kWeak, std::move(r));
    if (cached)
      w.hints(kPositive, fact("reads of the first epoch against later ones", "read_bytes", "",
                              dried_up, "ratio", true));
    because =
        fmt::format("the first epoch reads from storage: its steps take {} those of later epochs",
                    times(e.first_s / e.later_s));
    // A first epoch that is slow for other reasons does not wait for its reads.
    if (e.first_wait_s - e.later_wait_s < 0.5 * (e.first_s - e.later_s))
      w.contradicts(
          kStrong,
          fmt::format("the first epoch's steps take {} longer, and wait {} longer for input",
                      seconds(e.first_s - e.later_s),
                      seconds(std::max(0.0, e.first_wait_s - e.later_wait_s))),
          fact("input wait in the first epoch", "ledger.input_wait", "", e.first_wait_s, "s/step",
               false, e.later_wait_s));
    cost = (e.first_s - e.later_s) * static_cast<double>(e.first_steps) /
           static_cast<double>(std::max<size_t>(e.steps, 1));
  } else if (e.count >= 3) {
    w.contradicts(
        kPositive,
        fmt::format("the first epoch takes {} of later ones", times(e.first_s / e.later_s)),
        fact("first epoch", "steps.epoch", "", e.first_s / e.later_s, "ratio", false));
  }
  const Stake s = stake(view, {Phase::input_wait});
  if (s.state == Stake::State::present || (s.state == Stake::State::unknown && !w.decided())) {
    if (s.state == Stake::State::present || reads > 0) weigh_size(w, view, reads, because);
    if (s.before_s == s.before_s && w.decided() && !(cost > 0))
      w.contradicts(kPositive, "the data set and the memory did not change at the onset",
                    fact("data set", "dataset.bytes", "", kNaN, "", false));
  }
  if (!w.decided() && reads < 1e5 && s.state == Stake::State::present)
    w.contradicts(kStrong, fmt::format("storage is read at {}", bytes_per_second(reads)),
                  fact("reads", "read_bytes", "", reads, "bytes/s", false));
  if (!w.decided() && s.state == Stake::State::clear) w.gate(s);
  w.link("The page cache does not hold the set", "", bytes_per_second(reads));
  auto v = std::move(w).verdict(because, {kNeeds[0], kNeeds[1]});
  if (v.outcome == Outcome::supported) {
    if (!(cost > 0)) cost = s.excess_s;
    if (cost > 0) v.effect = Effect{cost, {kNaN, cost}};
  }
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_storage_cold_cache{
    .id = "storage.cold_cache",
    .claim = "the page cache does not hold the data set",
    .decides = "first epoch against later ones, data set against memory, reads that go on",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 4,
    .prior = 0,
    .test = test};

}  // namespace firstwait
