#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "explain/gpu_facts.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"forward and backward times per rank",
                                       "the GPU of each rank"};
constexpr Threshold kPeers{"least peers", 2, "ranks",
                           "a median of one peer cannot say which of the two is odd"};
constexpr Threshold kPersistent{
    "share of windows", 0.5, "ratio",
    "more often than not the slowest: a device does not change from step to step, load does"};
constexpr Threshold kThresholds[] = {kPeerSpread, kPeers, kPersistent};

struct Worker {
  const RankStat* stat;
  std::string gpu, model;
  int32_t stage;
  double compute;
};

// Ranks whose device and computing are both known: otherwise the slow thing might be anything.
std::vector<Worker> workers(const View& view) {
  std::map<int32_t, std::string> models;
  for (const auto& t : view.attribution.traces)
    if (!t.device.empty()) models[t.rank] = t.device;
  std::vector<Worker> out;
  for (const auto& s : view.attribution.rank_stats) {
    const auto it = view.evidence.ranks.find(s.rank);
    if (it == view.evidence.ranks.end()) continue;
    Worker w{&s, it->second.gpu, models[s.rank], it->second.stage, 0};
    for (const auto* m : settings(view, "gpu.model"))
      if (w.model.empty() && m->entity == "gpu/" + w.gpu) w.model = m->value;
    if (w.gpu.empty() && w.model.empty()) continue;
    bool known = false;
    for (const Phase p : {Phase::forward, Phase::backward}) {
      const double v = s.phase_s[index(p)];
      if (v > 0) {
        w.compute += v;
        known = true;
      }
    }
    if (known) out.push_back(std::move(w));
  }
  return out;
}

// What holds this GPU down, when that is known: then it is not "slow for no reason".
std::string known_reason(const View& view, const std::string& gpu) {
  for (const auto& [mask, why] :
       {std::pair{gpu_reason::kHardwareThermal | gpu_reason::kSoftwareThermal, "heat"},
        std::pair{gpu_reason::kPowerBrake | gpu_reason::kSoftwarePowerCap, "a power limit"},
        std::pair{gpu_reason::kApplicationClocks | gpu_reason::kDisplayClocks,
                  "a clock setting"}}) {
    const auto shares = throttled(view, mask);
    const Reading* r = of_entity(shares, "gpu/" + gpu);
    if (r != nullptr && r->now >= kReasonActive.value) return why;
  }
  return {};
}

// Peers wait for a device that works longer on equal work: it is the busiest then. Where it is not,
// something before it holds it up.
void weigh_busy(Weighing& w, const View& view, const Worker& slow, const std::vector<Worker>& all) {
  const auto busy = gauge(view, "DCGM_FI_DEV_GPU_UTIL");
  const Reading* own = of_entity(busy, "gpu/" + slow.gpu);
  std::vector<double> peers;
  for (const auto& o : all) {
    const Reading* r = of_entity(busy, "gpu/" + o.gpu);
    if (o.gpu != slow.gpu && o.stage == slow.stage && r != nullptr) peers.push_back(r->now);
  }
  if (own == nullptr || peers.empty()) return;
  const double usual = median_of(peers);
  if (own->now > usual) return;
  w.contradicts(
      kStrong,
      fmt::format("its GPU is busy {} of the time, those of its peers {}: it does not "
                  "work longer",
                  percent_text(own->now / 100), percent_text(usual / 100)),
      fact("GPU busy", "DCGM_FI_DEV_GPU_UTIL", "gpu/" + slow.gpu, own->now, "%", false, usual));
}

Verdict test(const View& view) {
  const auto all = workers(view);
  const Worker* worst = nullptr;
  double usual = kNaN, ratio = 0;
  for (const auto& w : all) {
    std::vector<double> peers;
    for (const auto& o : all)
      if (o.stat != w.stat && o.stage == w.stage) peers.push_back(o.compute);
    if (static_cast<double>(peers.size()) < kPeers.value) continue;
    const double m = median_of(peers);
    if (m > 0 && w.compute / m > ratio) {
      worst = &w;
      usual = m;
      ratio = w.compute / m;
    }
  }
  if (worst == nullptr)
    return untested({"forward and backward times of at least three ranks", "the GPU of each rank"});

  const auto name = fmt::format("rank/{}", worst->stat->rank);
  Weighing w;
  w.gate(stake_or_unexplained(view, kComputePhases));
  const auto numbers = [&](bool for_it) {
    return fact("computing of the slowest rank", "forward + backward", name, worst->compute,
                "s/step", for_it, usual);
  };
  if (ratio < 1 + kPeerSpread.value) {
    w.contradicts(
        kStrong,
        fmt::format(
            "the slowest rank {} computes {} longer than its peers, equal GPUs differ by 8 %",
            worst->stat->rank, percent_text(ratio - 1)),
        numbers(false));
    return std::move(w).verdict("", {});
  }
  std::string other_model;
  for (const auto& o : all)
    if (!worst->model.empty() && !o.model.empty() && o.model != worst->model) other_model = o.model;
  w.supports(other_model.empty() ? kPositive : kStrong, numbers(true));
  if (!other_model.empty())
    w.hints(kPositive, fact(fmt::format("{} among {}", worst->model, other_model), "gpu.model",
                            name, kNaN, "", true));
  if (worst->stat->persistence >= kPersistent.value) {
    w.hints(kWeak, fact("the slowest in most windows", "persistence", name,
                        worst->stat->persistence, "ratio", true));
  } else {
    w.contradicts(kPositive,
                  fmt::format("rank {} is the slowest in only {} of the windows", worst->stat->rank,
                              percent_text(worst->stat->persistence)),
                  fact("not always the slowest", "persistence", name, worst->stat->persistence,
                       "ratio", false));
  }
  if (const auto why = known_reason(view, worst->gpu); !why.empty())
    w.contradicts(kPositive,
                  fmt::format("{} holds the GPU of rank {} down", why, worst->stat->rank),
                  fact(why + " explains it", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
                       "gpu/" + worst->gpu, kNaN, "", false));
  weigh_busy(w, view, *worst, all);
  w.where(name);
  if (!worst->gpu.empty()) add_place(w, view, "gpu/" + worst->gpu);
  w.link("The same work takes longer on this GPU", name, change_text(usual, worst->compute));
  Verdict v = std::move(w).verdict(
      other_model.empty() ? fmt::format("rank {} computes {} longer than its peers on equal work",
                                        worst->stat->rank, percent_text(ratio - 1))
                          : fmt::format("rank {} runs on {}, others on {}", worst->stat->rank,
                                        worst->model, other_model),
      {});
  limit_effect(v, worst->compute - usual);
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_gpu_slow_device{
    .id = "gpu.slow_device",
    .claim = "a GPU is slower than its peers at the same work, and no reason is seen",
    .decides = "computing per rank on comparable work, persistence, the device of each rank",
    .accounts_for = kComputeOrUnexplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 6,
    .prior = 0,
    .test = test};

}  // namespace firstwait
