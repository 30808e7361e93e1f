#include "import/parquet/table.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace firstwait::parquet {
namespace {

// Columns of few values are stored as run lengths, so a row may take far less than a byte; eight to
// the byte is beyond what real tables reach and keeps a forged row count from taking all memory.
constexpr uint64_t kRowsPerByte = 8;
constexpr uint64_t kRowsAlways = 1 << 20;

// DuckDB reads these characters in a path as patterns, schemes or the home folder.
bool needs_descriptor(std::string_view path) {
  return path.find_first_of("*?[]{}\\") != std::string_view::npos ||
         path.find("://") != std::string_view::npos || path.starts_with('~') ||
         path.find(':') != std::string_view::npos;
}

std::shared_ptr<void> hold(int descriptor) {
  return {new int(descriptor), [](void* p) {
            const auto* held = static_cast<int*>(p);
            ::close(*held);
            delete held;
          }};
}

std::string_view sql_type(Want want) {
  switch (want) {
    case Want::int32:
    case Want::boolean:
      return "INTEGER";
    case Want::int64:
      return "BIGINT";
    case Want::float32:
      return "FLOAT";
    case Want::float64:
    case Want::seconds:
      return "DOUBLE";
    case Want::text:
      return "VARCHAR";
  }
  return "VARCHAR";
}

bool fits(const DuckColumn& column, Want want) {
  switch (want) {
    case Want::int32:
    case Want::int64:
    case Want::float32:
    case Want::float64:
      return is_integer(column) || is_floating(column) || is_decimal(column);
    case Want::seconds:
      return is_integer(column) || is_floating(column) || is_decimal(column) ||
             is_timestamp(column) || is_text(column);
    case Want::boolean:
      return is_boolean(column) || is_integer(column);
    case Want::text:
      return is_text(column) || is_integer(column);
  }
  return false;
}

}  // namespace

std::optional<Ns> seconds_to_ns(double seconds) {
  if (!std::isfinite(seconds)) return std::nullopt;
  if (seconds > 1e15) {
    if (seconds >= 9.2e18) return std::nullopt;
    return static_cast<Ns>(seconds);
  }
  if (std::fabs(seconds) >= 9.2e9) return std::nullopt;
  const double whole = std::floor(seconds);
  return static_cast<Ns>(whole) * 1'000'000'000 + std::llround((seconds - whole) * 1e9);
}

std::optional<Ns> integer_to_ns(int64_t value) {
  if (value > 1'000'000'000'000'000) return value;
  if (value > 9'200'000'000 || value < -9'200'000'000) return std::nullopt;
  return value * 1'000'000'000;
}

std::optional<Ns> TimeColumn::at(size_t row) const {
  if (form == TimeForm::absent || !DuckChunk::has_value(validity, row)) return std::nullopt;
  switch (form) {
    case TimeForm::integer:
      return integer_to_ns(static_cast<const int64_t*>(data)[row]);
    case TimeForm::nanoseconds:
      return static_cast<const int64_t*>(data)[row];
    case TimeForm::floating:
      return seconds_to_ns(static_cast<const double*>(data)[row]);
    case TimeForm::decimal:
      return parse_time_ns(DuckChunk::text_at(data, row));
    case TimeForm::absent:
      break;
  }
  return std::nullopt;
}

std::optional<Table> Table::open(Duck& duck, const ImportContext& context) {
  Table table;
  table.duck_ = &duck;
  table.context_ = &context;
  std::string path = context.path;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (descriptor < 0 || ::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    if (descriptor >= 0) ::close(descriptor);
    context.count(kHealth[unreadable], 1, "it cannot be opened as a file");
    return std::nullopt;
  }
  table.open_file_ = hold(descriptor);
  if (needs_descriptor(path)) path = fmt::format("/proc/self/fd/{}", descriptor);
  table.most_rows_ = kRowsAlways + kRowsPerByte * static_cast<uint64_t>(info.st_size);
  table.from_ = fmt::format("read_parquet({})", sql_text(path));
  auto columns = duck.columns("SELECT * FROM " + table.from_);
  if (!columns) {
    context.count(kHealth[unreadable], 1, columns.error().what);
    return std::nullopt;
  }
  table.columns_ = std::move(*columns);
  return table;
}

const DuckColumn* Table::find(std::string_view name) const {
  const auto found =
      std::find_if(columns_.begin(), columns_.end(), [&](const auto& c) { return c.name == name; });
  return found == columns_.end() ? nullptr : &*found;
}

bool Table::has(std::initializer_list<std::string_view> names) const {
  return std::all_of(names.begin(), names.end(), [&](auto name) { return find(name) != nullptr; });
}

std::optional<Table> Table::derived(const std::string& sql) const {
  auto columns = duck_->columns(sql);
  if (!columns) return std::nullopt;
  Table table = *this;
  table.from_ = "(" + sql + ")";
  table.columns_ = std::move(*columns);
  return table;
}

bool Table::check(const std::vector<Wanted>& wanted) const {
  std::string bad;
  for (const auto& w : wanted) {
    const DuckColumn* column = find(w.name);
    if (column == nullptr || !w.expression.empty() || fits(*column, w.want)) continue;
    bad += fmt::format("{}{}", bad.empty() ? "column " : ", ", w.name);
  }
  if (!bad.empty()) context_->count(kHealth[wrong_type], 1, bad);
  return bad.empty();
}

void Table::name_unknown(const std::vector<Wanted>& wanted,
                         std::initializer_list<std::string_view> also) const {
  std::string names;
  uint64_t count = 0;
  for (const auto& column : columns_) {
    if (std::find(also.begin(), also.end(), column.name) != also.end()) continue;
    if (std::any_of(wanted.begin(), wanted.end(),
                    [&](const auto& w) { return w.name == column.name; }))
      continue;
    if (++count <= 8) names += fmt::format("{}{}", names.empty() ? "column " : ", ", column.name);
  }
  if (count > 0) context_->count(kHealth[unknown_columns], count, names);
}

TimeForm Table::form(const Wanted& wanted) const {
  if (!wanted.expression.empty()) return TimeForm::floating;
  const DuckColumn* column = find(wanted.name);
  if (column == nullptr) return TimeForm::absent;
  if (is_timestamp(*column)) return TimeForm::nanoseconds;
  if (is_integer(*column)) return TimeForm::integer;
  return is_floating(*column) ? TimeForm::floating : TimeForm::decimal;
}

void Table::read(const std::vector<Wanted>& wanted,
                 const std::function<void(const DuckChunk&)>& chunk) const {
  std::string select;
  for (const auto& w : wanted) {
    std::string_view type = sql_type(w.want);
    std::string value = w.expression;
    if (value.empty()) value = find(w.name) == nullptr ? "NULL" : sql_name(w.name);
    if (w.want == Want::seconds) {
      const TimeForm time_form = form(w);
      if (time_form == TimeForm::decimal) type = "VARCHAR";
      if (time_form == TimeForm::integer || time_form == TimeForm::nanoseconds) type = "BIGINT";
      if (time_form == TimeForm::nanoseconds) value = fmt::format("epoch_ns({})", value);
    }
    select += fmt::format("{}TRY_CAST({} AS {})", select.empty() ? "SELECT " : ", ", value, type);
  }
  uint64_t rows = 0;
  const auto status = duck_->query(select + " FROM " + from_, [&](const DuckChunk& piece) {
    rows += piece.rows();
    if (rows > most_rows_) {
      context_->count(kHealth[too_many_rows], 1, fmt::format("row {}", most_rows_));
      return false;
    }
    chunk(piece);
    return true;
  });
  if (!status) context_->count(kHealth[unreadable], 1, status.error().what);
}

size_t Table::rows() const {
  int64_t rows = 0;
  const auto status = duck_->query("SELECT count(*) FROM " + from_, [&](const DuckChunk& c) {
    rows = c.values<int64_t>(0)[0];
    return true;
  });
  if (!status || rows < 0) return 0;
  return static_cast<size_t>(std::min<uint64_t>(static_cast<uint64_t>(rows), most_rows_));
}

TimeColumn Table::time(const DuckChunk& chunk, const std::vector<Wanted>& wanted,
                       size_t column) const {
  const TimeForm time_form = form(wanted[column]);
  if (time_form == TimeForm::absent) return {};
  return {time_form, chunk.values<void>(column), chunk.validity(column)};
}

}  // namespace firstwait::parquet
