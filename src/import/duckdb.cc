#include "import/duckdb.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

namespace firstwait {
namespace {

namespace fs = std::filesystem;

// DuckDB's C API (stable since 1.0), as far as it is used here. The package ships no header.
struct DuckResult {
  uint64_t deprecated[3];
  void* deprecated_columns;
  char* deprecated_error;
  void* internal;
};
constexpr int kSuccess = 0;

// How DuckDB stores a string in a vector: inlined up to 12 bytes, else a pointer behind four bytes
// of prefix.
struct DuckString {
  uint32_t length;
  char prefix[4];
  union {
    const char* pointer;
    char rest[8];
  };
};
static_assert(sizeof(DuckString) == 16);
constexpr uint32_t kInlined = 12;

enum Type {
  kBoolean = 1,
  kTinyint = 2,
  kBigint = 5,
  kUtinyint = 6,
  kUbigint = 9,
  kFloat = 10,
  kDouble = 11,
  kTimestamp = 12,
  kHugeint = 16,
  kVarchar = 17,
  kDecimal = 19,
  kTimestampS = 20,
  kTimestampNs = 22,
  kEnum = 23,
  kList = 24,
  kStruct = 25,
  kMap = 26,
  kTimestampTz = 31,
  kUhugeint = 32
};

constexpr std::string_view kRemedy =
    "run `make deps`, or set FIRSTWAIT_DUCKDB to the path of libduckdb.so; other formats are read "
    "without it";

std::vector<std::string> candidates() {
  std::vector<std::string> paths;
  if (const char* chosen = std::getenv("FIRSTWAIT_DUCKDB"); chosen != nullptr && *chosen != '\0')
    return {chosen};
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path folder = program.parent_path();
    paths.push_back((folder / "libduckdb.so").string());
    paths.push_back((folder / "../lib/libduckdb.so").string());
    paths.push_back((folder / "../lib/firstwait/libduckdb.so").string());
    for (fs::path up = folder; up.has_relative_path(); up = up.parent_path())
      paths.push_back(
          (up / ".deps/duckdb/node_modules/@duckdb/node-bindings-linux-x64/libduckdb.so").string());
  }
  std::erase_if(paths, [](const std::string& p) { return ::access(p.c_str(), R_OK) != 0; });
  paths.emplace_back("libduckdb.so");
  return paths;
}

}  // namespace

struct DuckApi {
  int (*create_config)(void**);
  int (*set_config)(void*, const char*, const char*);
  void (*destroy_config)(void**);
  int (*open_ext)(const char*, void**, void*, char**);
  void (*close)(void**);
  int (*connect)(void*, void**);
  void (*disconnect)(void**);
  int (*prepare)(void*, const char*, void**);
  const char* (*prepare_error)(void*);
  void (*destroy_prepare)(void**);
  int (*execute_prepared_streaming)(void*, DuckResult*);
  uint64_t (*prepared_statement_column_count)(void*);
  const char* (*prepared_statement_column_name)(void*, uint64_t);
  int (*prepared_statement_column_type)(void*, uint64_t);
  const char* (*result_error)(DuckResult*);
  void (*destroy_result)(DuckResult*);
  void* (*fetch_chunk)(DuckResult);
  void (*destroy_data_chunk)(void**);
  uint64_t (*data_chunk_get_size)(void*);
  void* (*data_chunk_get_vector)(void*, uint64_t);
  void* (*vector_get_data)(void*);
  uint64_t* (*vector_get_validity)(void*);
  void (*free)(void*);
};

namespace {

template <typename F>
bool bind(void* library, const char* symbol, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, symbol));
  return function != nullptr;
}

// The name of the first function that the library lacks, or nothing.
std::optional<std::string> bind_all(void* library, DuckApi& api) {
#define FIRSTWAIT_BIND(name) \
  if (!bind(library, "duckdb_" #name, api.name)) return "duckdb_" #name;
  FIRSTWAIT_BIND(create_config)
  FIRSTWAIT_BIND(set_config)
  FIRSTWAIT_BIND(destroy_config)
  FIRSTWAIT_BIND(open_ext)
  FIRSTWAIT_BIND(close)
  FIRSTWAIT_BIND(connect)
  FIRSTWAIT_BIND(disconnect)
  FIRSTWAIT_BIND(prepare)
  FIRSTWAIT_BIND(prepare_error)
  FIRSTWAIT_BIND(destroy_prepare)
  FIRSTWAIT_BIND(execute_prepared_streaming)
  FIRSTWAIT_BIND(prepared_statement_column_count)
  FIRSTWAIT_BIND(prepared_statement_column_name)
  FIRSTWAIT_BIND(prepared_statement_column_type)
  FIRSTWAIT_BIND(result_error)
  FIRSTWAIT_BIND(destroy_result)
  FIRSTWAIT_BIND(fetch_chunk)
  FIRSTWAIT_BIND(destroy_data_chunk)
  FIRSTWAIT_BIND(data_chunk_get_size)
  FIRSTWAIT_BIND(data_chunk_get_vector)
  FIRSTWAIT_BIND(vector_get_data)
  FIRSTWAIT_BIND(vector_get_validity)
  FIRSTWAIT_BIND(free)
#undef FIRSTWAIT_BIND
  return std::nullopt;
}

// Never unloaded: DuckDB keeps threads and thread-local state.
Result<DuckApi> load() {
  std::string reason;
  for (const auto& path : candidates()) {
    void* library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
      if (const char* error = ::dlerror()) reason = error;
      continue;
    }
    DuckApi api{};
    const auto lacking = bind_all(library, api);
    if (!lacking) return api;
    reason = fmt::format("{} has no {}: DuckDB 1.1 or later is needed", path, *lacking);
    ::dlclose(library);
  }
  return Error{"DuckDB's library cannot be loaded", reason, std::string(kRemedy)};
}

std::string first_line(const char* text) {
  const std::string_view all = text == nullptr ? "unknown error" : text;
  return std::string(all.substr(0, std::min<size_t>(all.find('\n'), 300)));
}

}  // namespace

struct Duck::State {
  DuckApi api{};
  void* database = nullptr;
  void* connection = nullptr;
  ~State() {
    if (connection != nullptr) api.disconnect(&connection);
    if (database != nullptr) api.close(&database);
  }
};

Duck::Duck(std::unique_ptr<State> state) : state_(std::move(state)) {}
Duck::Duck(Duck&&) noexcept = default;
Duck& Duck::operator=(Duck&&) noexcept = default;
Duck::~Duck() = default;

Result<Duck> Duck::open() {
  auto api = load();
  if (!api) return api.error();
  auto state = std::make_unique<State>();
  state->api = *api;
  const DuckApi& a = state->api;
  void* config = nullptr;
  if (a.create_config(&config) != kSuccess)
    return Error{"DuckDB cannot be configured", "", std::string(kRemedy)};
  // No extension is fetched or loaded, nothing is written to disk, and a file that claims to hold
  // more than it does cannot take all memory.
  constexpr std::array<std::array<const char*, 2>, 5> kSettings = {
      {{"autoinstall_known_extensions", "false"},
       {"autoload_known_extensions", "false"},
       {"memory_limit", "4GB"},
       {"max_temp_directory_size", "0KB"},
       {"temp_directory", ""}}};
  for (const auto& [name, value] : kSettings) a.set_config(config, name, value);
  char* message = nullptr;
  const int opened = a.open_ext(nullptr, &state->database, config, &message);
  a.destroy_config(&config);
  const std::string error = message == nullptr ? "" : first_line(message);
  if (message != nullptr) a.free(message);
  if (opened != kSuccess || a.connect(state->database, &state->connection) != kSuccess)
    return Error{"DuckDB cannot be started", error, "check the memory limit of this process"};
  return Duck(std::move(state));
}

namespace {

// A prepared statement; destroyed with the object.
class Statement {
 public:
  Statement(const DuckApi& api, void* connection, const std::string& sql)
      : api_(api), ok_(api.prepare(connection, sql.c_str(), &statement_) == kSuccess) {}
  ~Statement() { api_.destroy_prepare(&statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  bool ok() const { return ok_; }
  void* get() const { return statement_; }
  Error error() const { return {first_line(api_.prepare_error(statement_)), "", ""}; }

 private:
  const DuckApi& api_;
  void* statement_ = nullptr;
  bool ok_;
};

}  // namespace

Result<std::vector<DuckColumn>> Duck::columns(const std::string& sql) {
  const DuckApi& a = state_->api;
  const Statement statement(a, state_->connection, sql);
  if (!statement.ok()) return statement.error();
  std::vector<DuckColumn> columns(a.prepared_statement_column_count(statement.get()));
  for (size_t i = 0; i < columns.size(); ++i) {
    const char* name = a.prepared_statement_column_name(statement.get(), i);
    columns[i].name = name == nullptr ? "" : name;
    a.free(const_cast<char*>(name));
    columns[i].type = a.prepared_statement_column_type(statement.get(), i);
  }
  return columns;
}

Status Duck::query(const std::string& sql, const std::function<bool(const DuckChunk&)>& chunk) {
  const DuckApi& a = state_->api;
  const Statement statement(a, state_->connection, sql);
  if (!statement.ok()) return statement.error();
  DuckResult result{};
  Status status = Done{};
  if (a.execute_prepared_streaming(statement.get(), &result) != kSuccess) {
    status = Error{first_line(a.result_error(&result)), "", ""};
  } else {
    bool stopped = false;
    while (!stopped) {
      void* handle = a.fetch_chunk(result);
      if (handle == nullptr) break;
      const uint64_t rows = a.data_chunk_get_size(handle);
      if (rows > 0) stopped = !chunk(DuckChunk(a, handle, rows));
      a.destroy_data_chunk(&handle);
      if (rows == 0) break;
    }
    const char* error = stopped ? nullptr : a.result_error(&result);
    if (error != nullptr && *error != '\0') status = Error{first_line(error), "", ""};
  }
  a.destroy_result(&result);
  return status;
}

Status Duck::run(const std::string& sql) {
  return query(sql, [](const DuckChunk&) { return true; });
}

const void* DuckChunk::data(size_t column) const {
  return api_.vector_get_data(api_.data_chunk_get_vector(chunk_, column));
}

const uint64_t* DuckChunk::validity(size_t column) const {
  return api_.vector_get_validity(api_.data_chunk_get_vector(chunk_, column));
}

std::string_view DuckChunk::text_at(const void* texts, size_t row) {
  const DuckString& s = static_cast<const DuckString*>(texts)[row];
  return {s.length <= kInlined ? s.prefix : s.pointer, s.length};
}

bool is_boolean(const DuckColumn& c) { return c.type == kBoolean; }
bool is_integer(const DuckColumn& c) {
  return (c.type >= kTinyint && c.type <= kUbigint) || c.type == kHugeint || c.type == kUhugeint;
}
bool is_floating(const DuckColumn& c) { return c.type == kFloat || c.type == kDouble; }
bool is_decimal(const DuckColumn& c) { return c.type == kDecimal; }
bool is_text(const DuckColumn& c) { return c.type == kVarchar || c.type == kEnum; }
bool is_timestamp(const DuckColumn& c) {
  return c.type == kTimestamp || (c.type >= kTimestampS && c.type <= kTimestampNs) ||
         c.type == kTimestampTz;
}
bool is_struct(const DuckColumn& c) { return c.type == kStruct; }
bool is_map(const DuckColumn& c) { return c.type == kMap; }
bool is_list(const DuckColumn& c) { return c.type == kList; }

std::string sql_text(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted += '\'';
    quoted += c;
  }
  return quoted + "'";
}

std::string sql_name(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace firstwait
