// Op-level records of pipeline-parallel jobs: the columns of the artifact of arXiv 2505.05713.
#include <array>
#include <cmath>
#include <cstring>

#include "import/parquet/table.h"

namespace firstwait::parquet {
namespace {

enum Column : size_t {
  c_dp,
  c_stage,
  c_rank,
  c_step,
  c_optype,
  c_start,
  c_duration,
  c_seq,
  c_mc,
  c_gmc,
  c_mb
};
const std::vector<Wanted>& wanted() {
  static const std::vector<Wanted> kWanted = {
      {"dp_rank", Want::int32, true, {}},    {"stage", Want::int32, true, {}},
      {"rank", Want::int32, false, {}},      {"step", Want::int32, true, {}},
      {"optype", Want::text, true, {}},      {"start_ts", Want::float32, true, {}},
      {"duration", Want::float32, true, {}}, {"seq_id", Want::int32, true, {}},
      {"mc", Want::int32, false, {}},        {"gmc", Want::int32, false, {}},
      {"mb_id", Want::int32, false, {}}};
  return kWanted;
}

// Interned names of a text column. Few names repeat often, and equal strings of one chunk are
// mostly equal as the 16 bytes that DuckDB stores, so most rows need no hashing.
class NameCache {
 public:
  explicit NameCache(Names& names) : names_(names) {}
  void next_chunk() { used_ = 0; }
  NameId at(const void* texts, size_t row) {
    std::array<uint64_t, 2> raw{};
    std::memcpy(raw.data(), static_cast<const char*>(texts) + 16 * row, 16);
    for (size_t i = 0; i < used_; ++i)
      if (raw_[i] == raw) return ids_[i];
    const NameId id = names_.intern(DuckChunk::text_at(texts, row));
    if (used_ < raw_.size()) {
      raw_[used_] = raw;
      ids_[used_++] = id;
    }
    return id;
  }

 private:
  Names& names_;
  size_t used_ = 0;
  std::array<std::array<uint64_t, 2>, 32> raw_{};
  std::array<NameId, 32> ids_{};
};

class OpsReader {
 public:
  explicit OpsReader(const Table& table)
      : table_(table), out_(table.context().out), names_(out_.names) {}

  void reserve(size_t rows) {
    OpTable& ops = out_.ops;
    const size_t all = ops.size() + rows;
    for (auto* column : {&ops.dp_rank, &ops.stage, &ops.rank, &ops.step, &ops.seq, &ops.model_chunk,
                         &ops.global_model_chunk, &ops.microbatch})
      column->reserve(all);
    ops.optype.reserve(all);
    ops.start.reserve(all);
    ops.duration.reserve(all);
  }
  void chunk(const DuckChunk& c) {
    pick_good_rows(c);
    OpTable& ops = out_.ops;
    const size_t first = ops.size();
    append(c, c_dp, ops.dp_rank);
    append(c, c_stage, ops.stage);
    append(c, c_step, ops.step);
    append(c, c_seq, ops.seq);
    append_optional(c, c_rank, ops.rank);
    append_optional(c, c_mc, ops.model_chunk);
    append_optional(c, c_gmc, ops.global_model_chunk);
    append_optional(c, c_mb, ops.microbatch);
    append(c, c_start, ops.start);
    append(c, c_duration, ops.duration);
    const void* texts = c.values<void>(c_optype);
    names_.next_chunk();
    for (const uint32_t row : good_) ops.optype.push_back(names_.at(texts, row));
    for (size_t row = first; row < ops.size(); ++row) note_rank(row);
  }
  uint64_t bad() const { return bad_; }

 private:
  // A row is good when all required values are there and its times are finite and not negative.
  void pick_good_rows(const DuckChunk& c) {
    good_.clear();
    const auto* start = c.values<float>(c_start);
    const auto* duration = c.values<float>(c_duration);
    const auto* dp = c.values<int32_t>(c_dp);
    const auto* stage = c.values<int32_t>(c_stage);
    constexpr std::array kRequired = {c_dp, c_stage, c_step, c_optype, c_start, c_duration, c_seq};
    std::array<const uint64_t*, kRequired.size()> validity{};
    for (size_t i = 0; i < kRequired.size(); ++i) validity[i] = c.validity(kRequired[i]);
    for (uint32_t row = 0; row < c.rows(); ++row) {
      bool good = true;
      for (const uint64_t* mask : validity) good = good && DuckChunk::has_value(mask, row);
      // About 31 years: longer steps do not exist, and nanoseconds stay far from overflow.
      constexpr float kLongest = 1e9F;
      good = good && std::fabs(start[row]) < kLongest && duration[row] >= 0 &&
             duration[row] < kLongest && dp[row] >= 0 && stage[row] >= 0;
      if (good) good_.push_back(row);
    }
    bad_ += c.rows() - good_.size();
  }
  template <typename T>
  void append(const DuckChunk& c, Column column, std::vector<T>& to) const {
    const T* from = c.values<T>(column);
    if (good_.size() == c.rows()) {
      to.insert(to.end(), from, from + c.rows());
    } else {
      for (const uint32_t row : good_) to.push_back(from[row]);
    }
  }
  void append_optional(const DuckChunk& c, Column column, std::vector<int32_t>& to) const {
    const uint64_t* validity = c.validity(column);
    if (validity == nullptr) return append(c, column, to);
    const auto* from = c.values<int32_t>(column);
    for (const uint32_t row : good_)
      to.push_back(DuckChunk::has_value(validity, row) ? from[row] : -1);
  }
  // One rank's records mostly lie together.
  void note_rank(size_t row) {
    const OpTable& ops = out_.ops;
    const int32_t rank = ops.rank[row];
    if (rank < 0 ||
        (rank == last_rank_ && ops.dp_rank[row] == last_dp_ && ops.stage[row] == last_stage_))
      return;
    last_rank_ = rank;
    last_dp_ = ops.dp_rank[row];
    last_stage_ = ops.stage[row];
    auto& info = out_.rank(rank);
    info.dp_rank = last_dp_;
    info.stage = last_stage_;
    info.relative_time = true;
    if (info.source.empty()) info.source = table_.context().path;
  }

  const Table& table_;
  Evidence& out_;
  NameCache names_;
  std::vector<uint32_t> good_;
  uint64_t bad_ = 0;
  int32_t last_rank_ = -1, last_dp_ = -1, last_stage_ = -1;
};

}  // namespace

bool is_ops(const Table& table) {
  return table.has({"dp_rank", "stage", "step", "optype", "start_ts", "duration", "seq_id"});
}

void read_ops(const Table& table) {
  table.name_unknown(wanted());
  if (!table.check(wanted())) return;
  OpsReader reader(table);
  reader.reserve(table.rows());
  table.read(wanted(), [&](const DuckChunk& c) { reader.chunk(c); });
  if (reader.bad() > 0) table.context().count(kHealth[bad_rows], reader.bad());
}

}  // namespace firstwait::parquet
