// spans.parquet: one operation with start and end per row.
#include <array>

#include "base/saturate.h"
#include "import/parquet/table.h"
#include "import/span_rows.h"

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
  c_mb,
  c_on_device
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
      {"microbatch", Want::int32, false, {}},  {"on_device", Want::boolean, false, {}}};
  return kWanted;
}

class SpansReader {
 public:
  explicit SpansReader(const Table& table) : table_(table), rows_(table.context()) {}

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
    rows_.finish();
    if (bad_ > 0) table_.context().count(kHealth[bad_rows], bad_);
    if (unknown_phase_ > 0)
      table_.context().count(kHealth[unknown_phase], unknown_phase_, unknown_name_);
  }

 private:
  void span(size_t at, int32_t rank, Ns start, Ns duration) {
    const auto index = [&](Column column) {
      return static_cast<int32_t>(number<int32_t>(column, at));
    };
    SpanRow row;
    row.rank = rank;
    row.step = index(c_step);
    row.dp = index(c_dp);
    row.stage = index(c_stage);
    row.model_chunk = index(c_mc);
    row.global_chunk = index(c_gmc);
    row.microbatch = index(c_mb);
    row.seq = number<int64_t>(c_seq, at);
    row.bytes = number<int64_t>(c_bytes, at);
    row.start = start;
    row.duration = duration;
    row.phase = text(c_phase, at);
    row.op = text(c_op, at);
    row.group = text(c_group, at);
    row.thread = text(c_thread, at);
    row.on_device = number<int32_t>(c_on_device, at) != 0;
    if (!rows_.add(row) && unknown_phase_++ == 0)
      unknown_name_ = std::string(row.phase.substr(0, 60));
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
  SpanRows rows_;
  std::array<std::pair<const void*, const uint64_t*>, c_on_device + 1> ints_{};
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
