// Reading the fields of JSON rows: raw number tokens (times never pass through a double), bounded
// values, no exceptions.
#pragma once
#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/tables.h"

namespace firstwait {

// Times beyond this distance from the epoch (the year 2116) and durations above 2^53 ns (104 days,
// the last that a double holds exactly) are taken for damage: sums of a start and a duration then
// never overflow.
inline constexpr Ns kMaxTime = int64_t{1} << 62;
inline constexpr Ns kMaxDuration = int64_t{1} << 53;
// Times below 1e8 s do not count from the Unix epoch (FORMATS section 1).
inline constexpr Ns kRelativeBelow = int64_t{100'000'000} * 1'000'000'000;

// The keys of the first object in `text` in order, without unescaping; works on text that is cut
// anywhere.
std::vector<std::string_view> top_level_keys(std::string_view text);
bool has_key(const std::vector<std::string_view>& keys, std::string_view key);

using JsonValue = simdjson::ondemand::value;

// The token of a number, or the inside of a string; nothing for anything else.
std::optional<std::string_view> scalar_token(JsonValue value);
// Decimal seconds, integer nanoseconds above 1e15, or ISO 8601 in a string; kNoTime when it is none
// of these.
Ns json_time(JsonValue value);
// Seconds; kNoDuration when negative, beyond kMaxDuration or no number.
Ns json_duration(JsonValue value);
std::optional<int64_t> json_int(JsonValue value);    // also "12" and 12.0
std::optional<int32_t> json_index(JsonValue value);  // 0 .. INT32_MAX
double json_number(JsonValue value);                 // NaN when it is no finite number
std::optional<std::string_view> json_string(JsonValue value);
// Also false for a token that only begins like null: asking simdjson itself would throw.
bool json_null(JsonValue value);
// A string as it is, anything else as its JSON text.
std::string json_text(JsonValue value);

// One line as a JSON object, parsed in place.
class JsonLine {
 public:
  // Nothing when the line is not an object. The object lives until the next call.
  std::optional<simdjson::ondemand::object> object(std::string_view line);
  // After all fields were walked: true when the line held the object and nothing broken.
  bool clean();

 private:
  simdjson::ondemand::parser parser_;
  simdjson::ondemand::document document_;
  std::string buffer_;
};

}  // namespace firstwait
