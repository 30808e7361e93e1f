#include "import/span_rows.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/text.h"
#include "import/json_fields.h"
#include "model/pipeline_ops.h"

namespace firstwait {
namespace {

bool is_loader_work(std::string_view text) {
  return std::find(kLoaderWorkNames.begin(), kLoaderWorkNames.end(), text) !=
         kLoaderWorkNames.end();
}

// Bundles name threads freely; what is not recognised is taken for the training thread, as a row
// without a thread is.
Lane lane_of(const SpanRow& row, Phase phase) {
  if (is_loader_work(row.phase) || contains_ignoring_case(row.thread, "loader") ||
      contains_ignoring_case(row.thread, "worker"))
    return Lane::loader_worker;
  if (contains_ignoring_case(row.thread, "background")) return Lane::host_thread;
  if (contains_ignoring_case(row.thread, "stream") || contains_ignoring_case(row.thread, "gpu")) {
    if (phase == Phase::collective || phase == Phase::p2p) return Lane::gpu_collective;
    return phase == Phase::h2d ? Lane::gpu_copy : Lane::gpu_compute;
  }
  return Lane::main_thread;
}

}  // namespace

bool SpanRows::add(const SpanRow& row) {
  Evidence& out = context_.out;
  RankInfo& info = out.rank(row.rank);
  if (info.source.empty()) info.source = context_.path;
  if (row.dp >= 0) info.dp_rank = row.dp;
  if (row.stage >= 0) info.stage = row.stage;
  const NameId op = out.names.intern(row.op.empty() ? row.phase : row.op);
  // With its place in the pipeline, such an operation is a record for the replay.
  if (row.dp >= 0 && row.stage >= 0 && row.step >= 0 && row.seq >= 0 &&
      is_pipeline_op(out.names[op])) {
    ops_.push_back({row, op});
    return true;
  }
  if (row.start < kRelativeBelow) info.relative_time = true;
  const auto known = phase_from_name(row.phase);
  const Phase phase = known.value_or(Phase::unexplained);
  const auto thread = static_cast<uint32_t>(std::hash<std::string_view>{}(row.thread));
  out.spans.append(row.rank, row.step, row.start, row.duration, op, phase, lane_of(row, phase),
                   thread, row.bytes);
  if (phase == Phase::collective || phase == Phase::p2p)
    out.collectives.append(row.rank, row.step, out.names.intern(row.group), op, row.seq, row.start,
                           row.duration, row.bytes, row.on_device);
  return known || row.phase.empty() || is_loader_work(row.phase);
}

// The replay wants starts relative to the step; a step begins where its first operation does.
void SpanRows::finish() {
  std::map<int32_t, Ns> begin;
  for (const auto& o : ops_) {
    const auto [at, inserted] = begin.emplace(o.row.step, o.row.start);
    if (!inserted) at->second = std::min(at->second, o.row.start);
  }
  OpTable& t = context_.out.ops;
  for (const auto& o : ops_) {
    t.dp_rank.push_back(o.row.dp);
    t.stage.push_back(o.row.stage);
    t.rank.push_back(o.row.rank);
    t.step.push_back(o.row.step);
    t.optype.push_back(o.op);
    t.start.push_back(
        static_cast<float>(static_cast<double>(o.row.start - begin[o.row.step]) * 1e-9));
    t.duration.push_back(static_cast<float>(static_cast<double>(o.row.duration) * 1e-9));
    t.seq.push_back(static_cast<int32_t>(std::min<int64_t>(o.row.seq, INT32_MAX)));
    t.model_chunk.push_back(o.row.model_chunk);
    t.global_model_chunk.push_back(o.row.global_chunk);
    t.microbatch.push_back(o.row.microbatch);
  }
  ops_.clear();
}

}  // namespace firstwait
