#include "attribute/what_if.h"

#include "attribute/whatif/graph.h"
#include "attribute/whatif/job.h"
#include "attribute/whatif/results.h"

namespace firstwait {

std::optional<WhatIf> replay_ops(const Evidence& evidence) {
  if (evidence.ops.size() == 0) return std::nullopt;
  const auto refuse = [](const Error& error) {
    WhatIf w;
    w.refused = error.remedy.empty() ? error.what : error.what + "; " + error.remedy;
    return w;
  };
  const auto job = whatif::load_job(evidence);
  if (!job) return refuse(job.error());
  const auto graph = whatif::build_graph(*job);
  if (!graph) return refuse(graph.error());
  return whatif::replay_results(*job, *graph);
}

StepTable op_steps(const Evidence&) { return {}; }

}  // namespace firstwait
