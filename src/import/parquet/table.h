// One Parquet file as a table: its columns, and queries over them whose columns have the types the
// reader expects.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/duckdb.h"
#include "import/importer.h"
#include "model/phase.h"

namespace firstwait::parquet {

inline constexpr HealthCounter kNoDuckdb{"no_duckdb", Severity::error,
                                         "run `make deps`, or set FIRSTWAIT_DUCKDB to the path of "
                                         "libduckdb.so; Parquet cannot be read without it"};
inline constexpr HealthCounter kUnreadable{
    "unreadable_parquet", Severity::data_loss,
    "the Parquet file is cut or damaged; write or copy it again"};
inline constexpr HealthCounter kNotOurs{
    "unknown_table", Severity::error,
    "columns as in the documentation are needed: op records (dp_rank, stage, step, optype, "
    "start_ts, duration, "
    "seq_id), spans (rank, start, duration, op or phase) or steps (rank, step, duration)"};
inline constexpr HealthCounter kWrongType{
    "wrong_column_type", Severity::error,
    "write numbers as numbers, times in seconds, names as text"};
inline constexpr HealthCounter kUnknownColumns{"unknown_columns", Severity::info,
                                               "these columns are not used; the rest was read"};
inline constexpr HealthCounter kBadRows{
    "bad_rows", Severity::data_loss,
    "rows with an empty, negative or impossible required value were skipped"};
inline constexpr HealthCounter kTooManyRows{
    "too_many_rows", Severity::data_loss,
    "the file claims far more rows than its size can hold; the rest was not read"};
inline constexpr HealthCounter kPhasesExceedStep{
    "phases_exceed_step", Severity::data_loss,
    "phases must be exclusive and sum to at most the step's duration; the phases of these steps "
    "were not used"};
inline constexpr HealthCounter kUnknownPhase{
    "unknown_phase", Severity::info,
    "use a phase name of the documentation; the time counts as unexplained"};
inline constexpr HealthCounter kHealth[] = {kNoDuckdb,    kUnreadable,       kNotOurs,
                                            kWrongType,   kUnknownColumns,   kBadRows,
                                            kTooManyRows, kPhasesExceedStep, kUnknownPhase};
enum HealthIndex : size_t {
  no_duckdb,
  unreadable,
  not_ours,
  wrong_type,
  unknown_columns,
  bad_rows,
  too_many_rows,
  phases_exceed_step,
  unknown_phase
};

enum class Want : uint8_t {
  int32,  // absent and empty: -1 or null, as the reader decides
  int64,
  float32,
  float64,
  boolean,  // read as int32
  text,
  seconds,  // to nanoseconds: integer, float, decimal, text or timestamp
};

// A column of the query; absent ones yield nulls of the wanted type.
struct Wanted {
  std::string_view name;
  Want want = Want::int32;
  bool required = false;
  std::string expression;  // SQL in place of the column itself; empty: the column of that name
};

// How a `seconds` column arrives.
enum class TimeForm : uint8_t { absent, integer, floating, decimal, nanoseconds };

// Reads one row of a `seconds` column.
struct TimeColumn {
  TimeForm form = TimeForm::absent;
  const void* data = nullptr;
  const uint64_t* validity = nullptr;
  std::optional<Ns> at(size_t row) const;
};

class Table {
 public:
  // `context` must outlive the table. Nothing (and a health entry) when the file is not readable.
  static std::optional<Table> open(Duck& duck, const ImportContext& context);
  const std::vector<DuckColumn>& columns() const { return columns_; }
  const DuckColumn* find(std::string_view name) const;
  bool has(std::initializer_list<std::string_view> names) const;
  Duck& duck() const { return *duck_; }
  const ImportContext& context() const { return *context_; }
  const std::string& from() const { return from_; }
  // A query over this table as a table of its own; nothing when it does not hold together.
  std::optional<Table> derived(const std::string& sql) const;

  // Checks the types; false (and a health entry) when a column cannot be used as wanted.
  bool check(const std::vector<Wanted>& wanted) const;
  // Names the columns that are in no list.
  void name_unknown(const std::vector<Wanted>& wanted,
                    std::initializer_list<std::string_view> also = {}) const;
  // Runs the query and calls `chunk` for each piece. At most as many rows as the file's size can
  // make plausible.
  void read(const std::vector<Wanted>& wanted,
            const std::function<void(const DuckChunk&)>& chunk) const;
  // How many rows the file says it has, at most as many as read() would deliver.
  size_t rows() const;
  TimeColumn time(const DuckChunk& chunk, const std::vector<Wanted>& wanted, size_t column) const;

 private:
  TimeForm form(const Wanted& wanted) const;
  Duck* duck_ = nullptr;
  const ImportContext* context_ = nullptr;
  std::string from_;  // the SQL table expression
  std::vector<DuckColumn> columns_;
  uint64_t most_rows_ = 0;
  std::shared_ptr<void> open_file_;  // keeps the descriptor that `from_` may name
};

// Floating seconds (or nanoseconds when above 1e15) to nanoseconds; nothing when not finite or out
// of range.
std::optional<Ns> seconds_to_ns(double seconds);
std::optional<Ns> integer_to_ns(int64_t value);

// The readers. Each takes a table whose columns it recognised.
bool is_ops(const Table& table);
void read_ops(const Table& table);
bool is_steps(const Table& table);
void read_steps(const Table& table);
bool is_spans(const Table& table);
void read_spans(const Table& table);

}  // namespace firstwait::parquet
