// steps.parquet: one row per (rank, step), phases and loader times nested or as
// phase_x columns.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/saturate.h"
#include "import/json_fields.h"
#include "import/parquet/table.h"

namespace firstwait::parquet {
namespace {

enum Column : size_t {
  c_job,
  c_rank,
  c_host,
  c_step,
  c_start,
  c_duration,
  c_kind,
  c_epoch,
  c_samples,
  c_tokens,
  c_bytes,
  c_loss,
  c_phases
};
constexpr size_t kLoaderColumns = c_phases + kPhases;
constexpr size_t kWorkers = kLoaderColumns + kLoaderWorks, kQueued = kWorkers + 1;

// How SQL reaches a field of a nested column or its flat stand-in; "" when the table has neither.
std::string field(const Table& table, const std::vector<DuckColumn>& fields,
                  std::string_view nested, std::string_view flat, std::string_view name) {
  const std::string flat_name = fmt::format("{}_{}", flat, name);
  if (table.find(flat_name) != nullptr) return sql_name(flat_name);
  const DuckColumn* column = table.find(nested);
  if (column == nullptr) return {};
  if (is_map(*column)) return fmt::format("{}[{}]", sql_name(nested), sql_text(name));
  if (std::any_of(fields.begin(), fields.end(), [&](const auto& f) { return f.name == name; }))
    return fmt::format("struct_extract({}, {})", sql_name(nested), sql_text(name));
  return {};
}

std::vector<DuckColumn> fields_of(const Table& table, std::string_view name) {
  const DuckColumn* column = table.find(name);
  if (column == nullptr || !is_struct(*column)) return {};
  auto fields =
      table.duck().columns(fmt::format("SELECT {}.* FROM {}", sql_name(name), table.from()));
  return fields ? *fields : std::vector<DuckColumn>{};
}

// The names live in the constant tables of model/phase.h or in static text.
std::vector<Wanted> wanted_of(const Table& table) {
  std::vector<Wanted> wanted = {
      {"job", Want::text, false, {}},        {"rank", Want::int32, true, {}},
      {"host", Want::text, false, {}},       {"step", Want::int32, true, {}},
      {"start", Want::seconds, false, {}},   {"duration", Want::seconds, true, {}},
      {"kind", Want::text, false, {}},       {"epoch", Want::int32, false, {}},
      {"samples", Want::float64, false, {}}, {"tokens", Want::float64, false, {}},
      {"bytes", Want::float64, false, {}},   {"loss", Want::float64, false, {}}};
  const auto phases = fields_of(table, "phases"), loader = fields_of(table, "loader");
  for (const auto name : kPhaseNames)
    wanted.push_back({name, Want::float64, false, field(table, phases, "phases", "phase", name)});
  for (const auto name : kLoaderWorkNames)
    wanted.push_back({name, Want::float64, false, field(table, loader, "loader", "loader", name)});
  for (const std::string_view name : {"workers", "queued"})
    wanted.push_back({name, Want::float64, false, field(table, loader, "loader", "loader", name)});
  for (size_t i = c_phases; i < wanted.size(); ++i)
    if (wanted[i].expression.empty()) wanted[i].expression = "NULL";
  return wanted;
}

void name_unknown_columns(const Table& table, const std::vector<Wanted>& wanted) {
  std::string unknown, phases;
  uint64_t count = 0, phase_count = 0;
  const auto add = [](std::string& names, uint64_t& n, std::string_view name) {
    if (++n <= 8) names += fmt::format("{}{}", names.empty() ? "column " : ", ", name);
  };
  for (const auto& c : table.columns()) {
    const std::string_view name = c.name;
    if (name == "phases" || name == "loader" || name == "collectives") continue;
    const bool known = std::any_of(wanted.begin(), wanted.begin() + c_phases,
                                   [&](auto& w) { return w.name == name; }) ||
                       std::any_of(wanted.begin() + c_phases, wanted.end(),
                                   [&](auto& w) { return w.expression == sql_name(name); });
    if (!known)
      name.starts_with("phase_") ? add(phases, phase_count, name) : add(unknown, count, name);
  }
  for (const auto& f : fields_of(table, "phases"))
    if (!phase_from_name(f.name)) add(phases, phase_count, f.name);
  if (count > 0) table.context().count(kHealth[unknown_columns], count, unknown);
  if (phase_count > 0) table.context().count(kHealth[unknown_phase], phase_count, phases);
}

class StepsReader {
 public:
  StepsReader(const Table& table, const std::vector<Wanted>& wanted)
      : table_(table), wanted_(wanted), out_(table.context().out), columns_(wanted.size()) {}

  void chunk(const DuckChunk& c) {
    for (size_t i = 0; i < columns_.size(); ++i) columns_[i] = {c.values<void>(i), c.validity(i)};
    const TimeColumn start = table_.time(c, wanted_, c_start),
                     duration = table_.time(c, wanted_, c_duration);
    for (size_t row = 0; row < c.rows(); ++row) {
      const auto lasting = duration.at(row);
      const int32_t rank = integer(c_rank, row), step = integer(c_step, row);
      if (!lasting || *lasting < 0 || *lasting > kLongestTime || rank < 0 || !has(c_step, row)) {
        ++bad_;
        continue;
      }
      const Ns from = start.at(row).value_or(kNoTime);
      if (from > kLatestTime || (from != kNoTime && from < kEarliestTime)) {
        ++bad_;
        continue;
      }
      step_row(row, rank, step, from, *lasting);
    }
  }
  void finish() const {
    if (bad_ > 0) table_.context().count(kHealth[bad_rows], bad_);
    if (exceeding_ > 0) table_.context().count(kHealth[phases_exceed_step], exceeding_);
  }

 private:
  void step_row(size_t row, int32_t rank, int32_t step, Ns start, Ns duration) {
    StepTable& t = out_.steps;
    const size_t at = t.append(out_.names.intern(text(c_job, row)), rank, step, start, duration);
    auto& info = out_.rank(rank);
    if (info.source.empty()) info.source = table_.context().path;
    if (const auto host = text(c_host, row); !host.empty()) info.host = host;
    if (start != kNoTime && start < kRelativeBelow) info.relative_time = true;
    const std::string_view kind = text(c_kind, row);
    for (size_t i = 0; i < kStepKindNames.size(); ++i)
      if (kStepKindNames[i] == kind) t.kind[at] = static_cast<StepKind>(i);
    if (has(c_epoch, row)) t.epoch[at] = integer(c_epoch, row);
    set_number(t.samples, c_samples, row, at);
    set_number(t.tokens, c_tokens, row, at);
    set_number(t.bytes, c_bytes, row, at);
    set_number(t.loss, c_loss, row, at);
    set_number(t.loader_workers, kWorkers, row, at);
    set_number(t.loader_queued, kQueued, row, at);
    set_phases(row, at, duration);
    for (size_t w = 0; w < kLoaderWorks; ++w)
      if (const auto time = nanoseconds(kLoaderColumns + w, row))
        t.set_loader(at, static_cast<LoaderWork>(w), *time);
  }
  void set_phases(size_t row, size_t at, Ns duration) {
    std::array<std::optional<Ns>, kPhases> phases;
    double sum = 0;
    for (size_t p = 0; p < kPhases; ++p) {
      phases[p] = nanoseconds(c_phases + p, row);
      if (phases[p]) sum += static_cast<double>(*phases[p]);
    }
    // Decimals of one row are rounded each by itself: a microsecond a phase is not an error.
    if (sum > static_cast<double>(duration) + 1e3 * kPhases) {
      ++exceeding_;
      return;
    }
    Ns left = duration;
    for (size_t p = 0; p < kPhases; ++p) {
      if (!phases[p]) continue;
      const Ns value = std::min(*phases[p], left);
      left -= value;
      out_.steps.set_phase(at, static_cast<Phase>(p), value);
    }
  }
  bool has(size_t column, size_t row) const {
    return DuckChunk::has_value(columns_[column].second, row);
  }
  int32_t integer(size_t column, size_t row) const {
    return has(column, row) ? static_cast<const int32_t*>(columns_[column].first)[row] : -1;
  }
  std::string_view text(size_t column, size_t row) const {
    return has(column, row) ? DuckChunk::text_at(columns_[column].first, row) : std::string_view{};
  }
  std::optional<Ns> nanoseconds(size_t column, size_t row) const {
    if (!has(column, row)) return std::nullopt;
    const auto ns = seconds_to_ns(static_cast<const double*>(columns_[column].first)[row]);
    return ns && *ns >= 0 ? ns : std::nullopt;
  }
  void set_number(std::vector<double>& column, size_t from, size_t row, size_t at) {
    if (has(from, row))
      out_.steps.set_number(column, at, static_cast<const double*>(columns_[from].first)[row]);
  }

  const Table& table_;
  const std::vector<Wanted>& wanted_;
  Evidence& out_;
  std::vector<std::pair<const void*, const uint64_t*>> columns_;
  uint64_t bad_ = 0, exceeding_ = 0;
};

void read_collectives(const Table& steps) {
  const DuckColumn* column = steps.find("collectives");
  if (column == nullptr || !is_list(*column)) return;
  const auto table =
      steps.derived(fmt::format("SELECT rank AS of_rank, step AS of_step, c.* FROM (SELECT rank, "
                                "step, unnest(collectives) AS c FROM {})",
                                steps.from()));
  const std::vector<Wanted> wanted = {
      {"of_rank", Want::int32, true, {}},     {"of_step", Want::int32, true, {}},
      {"group", Want::text, false, {}},       {"seq", Want::int64, false, {}},
      {"op", Want::text, false, {}},          {"start", Want::seconds, true, {}},
      {"duration", Want::seconds, true, {}},  {"bytes", Want::int64, false, {}},
      {"on_device", Want::boolean, false, {}}};
  if (!table || !table->check(wanted)) {
    if (!table) steps.context().count(kHealth[wrong_type], 1, "column collectives");
    return;
  }
  Evidence& out = steps.context().out;
  uint64_t bad = 0;
  table->read(wanted, [&](const DuckChunk& c) {
    const TimeColumn start = table->time(c, wanted, 5), duration = table->time(c, wanted, 6);
    const auto integer = [&](size_t i, size_t row) -> int64_t {
      if (!DuckChunk::has_value(c.validity(i), row)) return -1;
      return i < 2 || i == 8 ? c.values<int32_t>(i)[row] : c.values<int64_t>(i)[row];
    };
    const auto text = [&](size_t i, size_t row) {
      return DuckChunk::has_value(c.validity(i), row) ? c.text(i, row) : std::string_view{};
    };
    for (size_t row = 0; row < c.rows(); ++row) {
      const auto from = start.at(row), lasting = duration.at(row);
      const int64_t rank = integer(0, row);
      if (!from || !lasting || *lasting < 0 || *lasting > kLongestTime || rank < 0 ||
          *from > kLatestTime || *from < kEarliestTime) {
        ++bad;
        continue;
      }
      out.collectives.append(static_cast<int32_t>(rank), static_cast<int32_t>(integer(1, row)),
                             out.names.intern(text(2, row)), out.names.intern(text(4, row)),
                             integer(3, row), *from, *lasting, integer(7, row),
                             integer(8, row) != 0);
    }
  });
  if (bad > 0) steps.context().count(kHealth[bad_rows], bad, "in column collectives");
}

}  // namespace

bool is_steps(const Table& table) { return table.has({"rank", "step", "duration"}); }

void read_steps(const Table& table) {
  const auto wanted = wanted_of(table);
  name_unknown_columns(table, wanted);
  if (!table.check(wanted)) return;
  StepsReader reader(table, wanted);
  table.read(wanted, [&](const DuckChunk& c) { reader.chunk(c); });
  reader.finish();
  read_collectives(table);
}

}  // namespace firstwait::parquet
