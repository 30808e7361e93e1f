#include <fmt/core.h>

#include <set>

#include "base/text.h"
#include "explain/contention_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::forward, Phase::backward, Phase::optimizer,
                                      Phase::unexplained};
constexpr std::string_view kNeeds[] = {"neighbour_start events that name a GPU",
                                       "processes on the GPU"};
constexpr Threshold kThresholds[] = {kRelevantShare};

// GPUs of the job; empty when unknown.
std::set<std::string> job_gpus(const View& view) {
  std::set<std::string> out;
  for (const auto& [rank, info] : view.evidence.ranks)
    if (!info.gpu.empty()) out.insert("gpu/" + info.gpu);
  return out;
}

// Where a neighbour runs: from its event or from relations.
std::string gpu_of(const View& view, const Event& e) {
  if (e.entity.starts_with("gpu/")) return e.entity;
  if (const auto g = e.attribute("gpu"); !g.empty())
    return g.starts_with("gpu/") ? std::string(g) : "gpu/" + std::string(g);
  for (const auto& r : view.evidence.relations)
    if (r.from == e.entity && (r.kind == "uses" || r.kind == "runs_on") && r.to.starts_with("gpu/"))
      return r.to;
  return "";
}

Verdict test(const View& view) {
  if (!neighbours_watched(view)) return untested({kNeeds[0]});
  Weighing w;
  const auto mine = job_gpus(view);
  std::string because;
  for (const auto& n : neighbours_at_onset(view, "gpu")) {
    const auto gpu = gpu_of(view, *n.event);
    if (gpu.empty() || (!mine.empty() && !mine.contains(gpu))) continue;
    if (!w.gate(stake(view, kPhasesExplained))) return std::move(w).verdict("", {});
    w.supports(kPositive + coincidence_llr(view) / 2,
               fact(fmt::format("{} started on {} at the onset", n.name, gpu),
                    "event.neighbour_start", gpu, 1, "events", true));
    w.where(gpu).where(n.name).where(n.owner);
    w.link("A neighbour computes on the same GPU", gpu, n.name);
    because = fmt::format("{} started to compute on {}", n.name, gpu);
    break;
  }
  if (!w.decided())
    w.contradicts(
        kPositive,
        fmt::format("0 of {} neighbours started on a GPU of the job at the onset",
                    events(view, "neighbour_start").size()),
        fact("neighbours on the job's GPUs", "event.neighbour_start", "", 0, "events", false));
  return std::move(w).verdict(because, {});
}

}  // namespace

extern const Hypothesis hypothesis_contention_gpu{
    .id = "contention.gpu",
    .claim = "another workload takes the GPU",
    .decides = "a neighbour's start on a GPU of the job at the onset, compute that grew",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 7,
    .prior = 0,
    .test = test};

}  // namespace firstwait
