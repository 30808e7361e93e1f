// DuckDB, loaded when it is needed (loading alone takes about 15 ms): SQL over files, read in
// columns.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace firstwait {

// A result's column. `type` is DuckDB's own number for it; the helpers below say what it holds.
struct DuckColumn {
  std::string name;
  int type = 0;
};
bool is_boolean(const DuckColumn& c);
bool is_integer(const DuckColumn& c);
bool is_floating(const DuckColumn& c);
bool is_decimal(const DuckColumn& c);
bool is_text(const DuckColumn& c);
bool is_timestamp(const DuckColumn& c);
bool is_struct(const DuckColumn& c);
bool is_map(const DuckColumn& c);
bool is_list(const DuckColumn& c);

struct DuckApi;

// Some rows of a result, by column. Valid only inside the callback that it is given to.
class DuckChunk {
 public:
  DuckChunk(const DuckApi& api, void* chunk, size_t rows) : api_(api), chunk_(chunk), rows_(rows) {}
  size_t rows() const { return rows_; }
  // The values of a column; T must be what the query casts to: int32_t for INTEGER, int64_t for
  // BIGINT, float for FLOAT, double for DOUBLE.
  template <typename T>
  const T* values(size_t column) const {
    return static_cast<const T*>(data(column));
  }
  std::string_view text(size_t column, size_t row) const { return text_at(data(column), row); }
  // `texts` is values<void>(column): saves looking the column up for each row.
  static std::string_view text_at(const void* texts, size_t row);
  // A bit per row, 1: has a value. Null when every row has one.
  const uint64_t* validity(size_t column) const;
  static bool has_value(const uint64_t* validity, size_t row) {
    return validity == nullptr || ((validity[row / 64] >> (row % 64)) & 1) != 0;
  }

 private:
  const void* data(size_t column) const;
  const DuckApi& api_;
  void* chunk_;
  size_t rows_;
};

// An in-memory database with one connection.
class Duck {
 public:
  // Looks for the library at $FIRSTWAIT_DUCKDB, beside the program, in ../lib, in a .deps folder
  // above the program (a build tree), then where the system's loader looks.
  static Result<Duck> open();
  Duck(Duck&&) noexcept;
  Duck& operator=(Duck&&) noexcept;
  ~Duck();

  Status run(const std::string& sql);
  // The columns that a query yields, without running it.
  Result<std::vector<DuckColumn>> columns(const std::string& sql);
  // Calls `chunk` for each piece of the result as it is made, until it returns false.
  Status query(const std::string& sql, const std::function<bool(const DuckChunk&)>& chunk);

 private:
  struct State;
  explicit Duck(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

std::string sql_text(std::string_view text);  // 'it''s'
std::string sql_name(std::string_view name);  // "a ""column"""

}  // namespace firstwait
