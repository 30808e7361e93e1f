#include "attribute/what_if.h"

#include <future>

#include "attribute/whatif/graph.h"
#include "attribute/whatif/job.h"
#include "attribute/whatif/replay.h"
#include "attribute/whatif/results.h"
#include "attribute/whatif/timeline.h"

namespace firstwait {
namespace {

WhatIf refuse(const Error& error) {
  WhatIf w;
  w.refused = error.remedy.empty() ? error.what : error.what + "; " + error.remedy;
  return w;
}

}  // namespace

OpAnalysis analyse_ops(const Evidence& evidence) {
  OpAnalysis out;
  if (evidence.ops.size() == 0) return out;
  const auto take = [&](whatif::Timeline&& timeline) {
    out.steps = std::move(timeline.steps);
    out.wait = std::move(timeline.wait);
    out.p2p_wait = std::move(timeline.p2p_wait);
  };
  const auto job = whatif::load_job(evidence);
  if (!job) {
    out.what_if = refuse(job.error());
    take(whatif::raw_timeline(evidence));
    return out;
  }
  const auto graph = whatif::build_graph(*job);
  if (!graph) {
    out.what_if = refuse(graph.error());
    take(whatif::raw_timeline(evidence));
    return out;
  }
  const auto own = whatif::own_durations(*job, *graph);
  // The replays and the rest only read, and take about equally long.
  auto replays =
      std::async(std::launch::async, [&] { return whatif::replay_results(*job, *graph, own); });
  take(whatif::worker_timeline(*job, own));
  out.path = whatif::critical_path(*job, *graph, own);
  out.what_if = replays.get();
  return out;
}

std::optional<WhatIf> replay_ops(const Evidence& evidence) { return analyse_ops(evidence).what_if; }

StepTable op_steps(const Evidence& evidence) { return analyse_ops(evidence).steps; }

}  // namespace firstwait
