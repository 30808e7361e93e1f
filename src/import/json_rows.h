// Readers of JSON lines: one object, one row.
#pragma once
#include <string_view>

#include "import/importer.h"
#include "import/json_fields.h"

namespace firstwait {

inline constexpr HealthCounter kBadJsonLine{"bad_line", Severity::data_loss,
                                            "the line is not a JSON object; write it again"};
inline constexpr HealthCounter kJsonLineTooLong{"line_too_long", Severity::data_loss,
                                                "split the line: 16 MiB is the limit"};

inline constexpr HealthCounter kJsonArray{
    "json_array", Severity::data_loss,
    "it is one JSON array; write one object a line: jq -c '.[]' FILE > steps.jsonl"};
inline constexpr HealthCounter kBadIndex{
    "bad_index", Severity::data_loss,
    "ranks and steps are whole numbers from 0 to 2,147,483,647; number them so"};

// The keys of the first row; also of an array of rows, so that it is refused by name.
std::vector<std::string_view> first_row_keys(std::string_view head);

// Walks the fields of each line. Counts kBadJsonLine, kJsonLineTooLong and kJsonArray itself; a
// line that is broken anywhere gives no row.
class JsonRows : public LineReader {
 public:
  explicit JsonRows(ImportContext context) : context_(std::move(context)) {}

 protected:
  virtual void begin_row() = 0;
  virtual void field(std::string_view key, JsonValue value) = 0;
  virtual void end_row() = 0;
  void end(bool) override {}
  // Counted at the present line.
  void count(const HealthCounter& counter);

  ImportContext context_;

 private:
  void line(std::string_view text, uint64_t number) final;
  void too_long(uint64_t number) final;
  JsonLine json_;
  uint64_t number_ = 0;
  bool array_ = false, any_ = false;
};

}  // namespace firstwait
