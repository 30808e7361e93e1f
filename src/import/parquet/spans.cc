// spans.parquet (FORMATS section 1): one operation with start and end per row.
#include <array>
#include <functional>
#include <map>

#include "base/saturate.h"
#include "base/text.h"
#include "import/parquet/table.h"
#include "model/pipeline_ops.h"

namespace firstwait::parquet {
namespace {

enum Column : size_t {
  c_rank,
  c_step,
  c_phase,
  c_op,
  c_start,
  c_duration,
  c_group,
  c_seq,
  c_bytes,
  c_thread,
  c_dp,
  c_stage,
  c_mc,
  c_gmc,
  c_mb
};
const std::vector<Wanted>& wanted() {
  static const std::vector<Wanted> kWanted = {
      {"rank", Want::int32, true, {}},         {"step", Want::int32, false, {}},
      {"phase", Want::text, false, {}},        {"op", Want::text, false, {}},
      {"start", Want::seconds, true, {}},      {"duration", Want::seconds, true, {}},
      {"group", Want::text, false, {}},        {"seq", Want::int64, false, {}},
      {"bytes", Want::int64, false, {}},       {"thread", Want::text, false, {}},
      {"dp_rank", Want::int32, false, {}},     {"stage", Want::int32, false, {}},
      {"model_chunk", Want::int32, false, {}}, {"global_model_chunk", Want::int32, false, {}},
      {"microbatch", Want::int32, false, {}}};
  return kWanted;
}

struct OpRow {
  int32_t dp, stage, rank, step, seq, mc, gmc, mb;
  NameId op;
  Ns start, duration;
};

class SpansReader {
 public:
  explicit SpansReader(const Table& table) : table_(table), out_(table.context().out) {}

  void chunk(const DuckChunk& c) {
    for (size_t i = 0; i < ints_.size(); ++i) ints_[i] = {c.values<void>(i), c.validity(i)};
    const TimeColumn start = table_.time(c, wanted(), c_start),
                     duration = table_.time(c, wanted(), c_duration);
    for (size_t row = 0; row < c.rows(); ++row) {
      const auto from = start.at(row), lasting = duration.at(row);
      const int64_t rank = number<int32_t>(c_rank, row);
      if (!from || !lasting || *lasting < 0 || *lasting > kLongestTime || rank < 0 ||
          *from > kLatestTime || *from < kEarliestTime) {
        ++bad_;
        continue;
      }
      span(row, static_cast<int32_t>(rank), *from, *lasting);
    }
  }

  void finish() {
    // The replay wants starts relative to the step; the step begins where its first op does.
    std::map<int32_t, Ns> begin;
    for (const auto& r : ops_) {
      const auto [at, inserted] = begin.emplace(r.step, r.start);
      if (!inserted) at->second = std::min(at->second, r.start);
    }
    for (const auto& r : ops_) {
      OpTable& t = out_.ops;
      t.dp_rank.push_back(r.dp);
      t.stage.push_back(r.stage);
      t.rank.push_back(r.rank);
      t.step.push_back(r.step);
      t.optype.push_back(r.op);
      t.start.push_back(static_cast<float>(static_cast<double>(r.start - begin[r.step]) * 1e-9));
      t.duration.push_back(static_cast<float>(static_cast<double>(r.duration) * 1e-9));
      t.seq.push_back(r.seq);
      t.model_chunk.push_back(r.mc);
      t.global_model_chunk.push_back(r.gmc);
      t.microbatch.push_back(r.mb);
    }
    if (bad_ > 0) table_.context().count(kHealth[bad_rows], bad_);
    if (unknown_phase_ > 0)
      table_.context().count(kHealth[unknown_phase], unknown_phase_, unknown_name_);
  }

 private:
  void span(size_t row, int32_t rank, Ns start, Ns duration) {
    const auto step = static_cast<int32_t>(number<int32_t>(c_step, row));
    const std::string_view phase_text = text(c_phase, row);
    std::string_view op_text = text(c_op, row);
    auto& info = out_.rank(rank);
    if (info.source.empty()) info.source = table_.context().path;
    info.relative_time = start < 100'000'000LL * 1'000'000'000;
    const auto dp = static_cast<int32_t>(number<int32_t>(c_dp, row));
    const auto stage = static_cast<int32_t>(number<int32_t>(c_stage, row));
    if (dp >= 0) info.dp_rank = dp;
    if (stage >= 0) info.stage = stage;
    if (op_text.empty()) op_text = phase_text;
    const NameId op = out_.names.intern(op_text);
    const int64_t seq = number<int64_t>(c_seq, row);
    if (dp >= 0 && stage >= 0 && step >= 0 && is_pipeline_op(op_text)) {
      ops_.push_back({dp, stage, rank, step,
                      static_cast<int32_t>(std::clamp<int64_t>(seq, -1, INT32_MAX)),
                      static_cast<int32_t>(number<int32_t>(c_mc, row)),
                      static_cast<int32_t>(number<int32_t>(c_gmc, row)),
                      static_cast<int32_t>(number<int32_t>(c_mb, row)), op, start, duration});
      return;
    }
    Phase phase = Phase::unexplained;
    if (const auto known = phase_from_name(phase_text)) {
      phase = *known;
    } else if (!phase_text.empty()) {
      if (unknown_phase_++ == 0) unknown_name_ = std::string(phase_text.substr(0, 60));
    }
    const int64_t bytes = number<int64_t>(c_bytes, row);
    const auto thread = static_cast<uint32_t>(std::hash<std::string_view>{}(text(c_thread, row)));
    out_.spans.append(rank, step, start, duration, op, phase, Lane::main_thread, thread, bytes);
    const std::string_view group = text(c_group, row);
    if (!group.empty() && (phase == Phase::collective || phase == Phase::p2p))
      out_.collectives.append(rank, step, out_.names.intern(group), op, seq, start, duration, bytes,
                              false);
  }
  // -1: absent.
  template <typename T>
  int64_t number(Column column, size_t row) const {
    const auto& [data, validity] = ints_[column];
    return DuckChunk::has_value(validity, row) ? static_cast<const T*>(data)[row] : -1;
  }
  std::string_view text(Column column, size_t row) const {
    const auto& [data, validity] = ints_[column];
    return DuckChunk::has_value(validity, row) ? DuckChunk::text_at(data, row) : std::string_view{};
  }

  const Table& table_;
  Evidence& out_;
  std::array<std::pair<const void*, const uint64_t*>, c_mb + 1> ints_{};
  std::vector<OpRow> ops_;
  uint64_t bad_ = 0, unknown_phase_ = 0;
  std::string unknown_name_;
};

}  // namespace

bool is_spans(const Table& table) {
  return table.has({"rank", "start", "duration"}) &&
         (table.find("op") != nullptr || table.find("phase") != nullptr);
}

void read_spans(const Table& table) {
  table.name_unknown(wanted());
  if (!table.check(wanted())) return;
  SpansReader reader(table);
  table.read(wanted(), [&](const DuckChunk& c) { reader.chunk(c); });
  reader.finish();
}

}  // namespace firstwait::parquet
