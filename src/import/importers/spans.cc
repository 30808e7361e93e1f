// spans.jsonl of an evidence bundle (FORMATS section 1): one operation with start and end per row.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "import/json_rows.h"
#include "model/pipeline_ops.h"

namespace firstwait {
namespace {

constexpr HealthCounter kHealth[] = {
    kBadJsonLine,
    kJsonLineTooLong,
    {"incomplete_span", Severity::data_loss,
     "give every row a rank, a start and a duration in seconds, and a phase or an op"},
    {"unknown_phase", Severity::error,
     "use the phase names of the format; the span is kept as unexplained"}};
enum : size_t { kIncomplete = 2, kUnknownPhase };

int sniff(const Sniff& s) {
  const auto keys = top_level_keys(s.head);
  if (!has_key(keys, "rank") || !has_key(keys, "start") || !has_key(keys, "duration")) return 0;
  return has_key(keys, "phase") || has_key(keys, "op") ? 90 : 0;
}

struct Row {
  std::optional<int32_t> rank;
  int32_t step = -1, dp = -1, stage = -1, model_chunk = -1, global_chunk = -1, microbatch = -1;
  int64_t seq = -1, bytes = -1;
  Ns start = kNoTime, duration = kNoDuration;
  std::string phase, op, group, thread;
  bool on_device = true;
};

struct OpRow {
  Row row;
  NameId op = kNoName;
};

bool is_loader_work(std::string_view text) {
  return std::find(kLoaderWorkNames.begin(), kLoaderWorkNames.end(), text) !=
         kLoaderWorkNames.end();
}

// Bundles name threads freely; what is not recognised is taken for the training thread, as a row
// without a thread is.
Lane lane_of(const Row& row, Phase phase) {
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

class SpansReader final : public JsonRows {
 public:
  using JsonRows::JsonRows;

 private:
  void begin_row() override { row_ = {}; }
  void field(std::string_view key, JsonValue value) override { read(row_, key, value); }
  void end_row() override {
    if (!row_.rank || row_.start == kNoTime || row_.duration == kNoDuration ||
        (row_.phase.empty() && row_.op.empty()))
      return count(kHealth[kIncomplete]);
    append(row_);
  }
  void end(bool) override { append_ops(); }

  static void read(Row& row, std::string_view key, JsonValue value) {
    if (key == "rank") row.rank = json_index(value);
    if (key == "step") row.step = json_index(value).value_or(-1);
    if (key == "start") row.start = json_time(value);
    if (key == "duration") row.duration = json_duration(value);
    if (key == "phase") row.phase = json_string(value).value_or("");
    if (key == "op") row.op = json_string(value).value_or("");
    if (key == "group" && !json_null(value)) row.group = json_text(value);
    if (key == "thread" && !json_null(value)) row.thread = json_text(value);
    if (key == "seq") row.seq = json_int(value).value_or(-1);
    if (key == "bytes") row.bytes = json_int(value).value_or(-1);
    if (key == "dp_rank") row.dp = json_index(value).value_or(-1);
    if (key == "stage") row.stage = json_index(value).value_or(-1);
    if (key == "model_chunk") row.model_chunk = json_index(value).value_or(-1);
    if (key == "global_model_chunk") row.global_chunk = json_index(value).value_or(-1);
    if (key == "microbatch") row.microbatch = json_index(value).value_or(-1);
    bool flag = true;
    if (key == "on_device" && !value.get_bool().get(flag)) row.on_device = flag;
  }

  void append(const Row& row) {
    Evidence& out = context_.out;
    RankInfo& info = out.rank(*row.rank);
    if (info.source.empty()) info.source = context_.path;
    if (row.dp >= 0) info.dp_rank = row.dp;
    if (row.stage >= 0) info.stage = row.stage;
    const NameId op = out.names.intern(row.op.empty() ? row.phase : row.op);
    // With its place in the pipeline, such an operation is a record for the replay.
    if (row.dp >= 0 && row.stage >= 0 && row.step >= 0 && row.seq >= 0 &&
        is_pipeline_op(out.names[op])) {
      ops_.push_back({row, op});
      return;
    }
    if (row.start < kRelativeBelow) info.relative_time = true;
    const auto known = phase_from_name(row.phase);
    if (!known && !row.phase.empty() && !is_loader_work(row.phase)) count(kHealth[kUnknownPhase]);
    const Phase phase = known.value_or(Phase::unexplained);
    const auto thread = static_cast<uint32_t>(std::hash<std::string_view>{}(row.thread));
    out.spans.append(*row.rank, row.step, row.start, row.duration, op, phase, lane_of(row, phase),
                     thread, row.bytes);
    if (phase == Phase::collective || phase == Phase::p2p)
      out.collectives.append(*row.rank, row.step, out.names.intern(row.group), op, row.seq,
                             row.start, row.duration, row.bytes, row.on_device);
  }

  // The replay wants starts relative to the step; a step begins where its first operation does.
  void append_ops() {
    std::map<int32_t, Ns> begin;
    for (const auto& o : ops_) {
      const auto [at, inserted] = begin.emplace(o.row.step, o.row.start);
      if (!inserted) at->second = std::min(at->second, o.row.start);
    }
    OpTable& t = context_.out.ops;
    for (const auto& o : ops_) {
      t.dp_rank.push_back(o.row.dp);
      t.stage.push_back(o.row.stage);
      t.rank.push_back(*o.row.rank);
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

  Row row_;
  std::vector<OpRow> ops_;
};

}  // namespace

extern const Importer importer_spans{.name = "spans",
                                     .summary =
                                         "spans of an evidence bundle: operations with start and "
                                         "end, collectives, pipeline operations",
                                     .formats = "spans.jsonl",
                                     .health = kHealth,
                                     .sniff = sniff,
                                     .open = [](ImportContext c) -> std::unique_ptr<Reader> {
                                       return std::make_unique<SpansReader>(std::move(c));
                                     }};

}  // namespace firstwait
