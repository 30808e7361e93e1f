#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "explain/gpu_facts.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {"process list of the GPUs (nvidia-smi)", "rank process ids"};
constexpr Threshold kForeign{
    "foreign compute processes", 1, "processes",
    "NVIDIA CUDA documentation: without MPS, processes on one GPU take turns in time slices"};
constexpr Threshold kThresholds[] = {kForeign};

struct Process {
  std::string entity;  // "process/node07:4711"
  std::string name;
  Ns from = kNoTime;
};

std::string attribute(const Evidence& e, std::string_view entity, std::string_view key) {
  for (const auto& row : e.entities)
    if (row.id == entity)
      for (const auto& [k, v] : row.attributes)
        if (k == key) return v;
  return {};
}

// Compute processes per GPU. Graphics processes (Xorg: type G) hold a little memory and compute
// nothing.
std::map<std::string, std::vector<Process>> processes(const View& view) {
  std::map<std::string, std::vector<Process>> out;
  for (const auto& r : view.evidence.relations) {
    if (r.kind != "uses" || !r.from.starts_with("process/") || !r.to.starts_with("gpu/")) continue;
    const auto type = attribute(view.evidence, r.from, "type");
    if (type == "G") continue;
    out[r.to].push_back({r.from, attribute(view.evidence, r.from, "name"), r.valid_from});
  }
  return out;
}

// Processes that are ranks of the job, by relation or by firstwait_rank_info.
std::set<std::string> own_processes(const View& view) {
  std::set<std::string> own;
  for (const auto& r : view.evidence.relations) {
    if (r.from.starts_with("rank/") && r.to.starts_with("process/")) own.insert(r.to);
    if (r.to.starts_with("rank/") && r.from.starts_with("process/")) own.insert(r.from);
    if (r.kind == "member_of" && r.from.starts_with("process/") && r.to.starts_with("job/"))
      own.insert(r.from);
  }
  for (const auto& r : gauge(view, "firstwait_rank_info")) {
    std::string pid;
    for (const auto& [k, v] : r.labels)
      if (k == "pid") pid = v;
    if (!pid.empty() && r.entity.starts_with("host/"))
      own.insert("process/" + r.entity.substr(5) + ":" + pid);
  }
  return own;
}

Verdict test(const View& view) {
  const auto per_gpu = processes(view);
  const auto own = own_processes(view);
  if (per_gpu.empty()) return untested({"nvidia-smi --query-compute-apps=pid,name,used_memory"});
  std::string gpu;
  Process stranger;
  size_t extra = 0, judged = 0, total = 0;
  for (const auto& [entity, list] : per_gpu) {
    const int32_t rank = rank_of_gpu(view, entity);
    size_t ours = 0;
    for (const auto& p : list) ours += own.contains(p.entity) ? 1 : 0;
    // Without process ids of the job, one process per GPU with a rank is taken for the rank itself.
    if (own.empty() && rank < 0) continue;
    if (!own.empty() && ours == 0 && rank < 0) continue;
    ++judged;
    total += list.size();
    const size_t expected = own.empty() ? 1 : ours;
    if (list.size() > expected && list.size() - expected > extra) {
      extra = list.size() - expected;
      gpu = entity;
      for (const auto& p : list)
        if (!own.contains(p.entity)) stranger = p;
    }
  }
  if (judged == 0)
    return untested({"which processes are ranks of the job (rank, host, gpu and pid)"});

  Weighing w;
  w.gate(stake_or_unexplained(view, kComputePhases));
  if (extra < static_cast<size_t>(kForeign.value)) {
    w.contradicts(kStrong, fmt::format("no foreign process on {} GPUs of the job", judged),
                  fact("compute processes", "process list", "", static_cast<double>(total),
                       "processes", false));
    return std::move(w).verdict("", {});
  }
  w.supports(
      own.empty() ? kPositive : kStrong,
      fact(stranger.name.empty() ? "foreign compute process" : "foreign process " + stranger.name,
           "process list", gpu, static_cast<double>(extra), "processes", true, 0));
  if (at_onset(view, stranger.from))
    w.hints(coincidence_llr(view),
            fact("it came at the onset", "process start", stranger.entity, kNaN, "", true));
  weigh_place(w, view, gpu);
  add_place(w, view, gpu);
  if (own.size() > 0) w.where(stranger.entity);
  const auto who = stranger.name.empty() ? std::string("a foreign process") : stranger.name;
  w.link("Another process computes on the GPU", gpu_label(gpu), who);
  return std::move(w).verdict(fmt::format("{} computes on {} as well", who, gpu_label(gpu)), {});
}

}  // namespace

extern const Hypothesis hypothesis_gpu_shared{
    .id = "gpu.shared",
    .claim = "a process of another job computes on a GPU of this one",
    .decides = "the process list of each GPU against the ranks",
    .accounts_for = kComputeOrUnexplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 7,
    .prior = 0,
    .test = test};

}  // namespace firstwait
