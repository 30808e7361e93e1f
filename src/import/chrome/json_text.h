// Small readers for pieces of JSON text that the scanner cut out.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace firstwait {

// The raw value of `"key"` at the first level of `object` (with its braces): text between quotation
// marks, a number's digits, or a container with its brackets. Empty: not there.
std::string_view json_field(std::string_view object, std::string_view key);

// Calls `each(key, value)` for the fields of `object`, `value` as in json_field, until it returns
// false.
template <typename Each>
void json_fields(std::string_view object, Each&& each);

// "a\"b\u00e9" -> a"bé. Invalid escapes are kept as they are.
std::string json_unescape(std::string_view raw);

// Microseconds ("1623142623460172", "4203669604595.407"), or nanoseconds when the number could not
// be microseconds (beyond the year 5000), to nanoseconds without going through a double. Nothing
// when it is no number or beyond what a time can be.
// `nanoseconds` tells which: the event's duration is in the same unit.
std::optional<int64_t> trace_time_ns(std::string_view text, bool& nanoseconds);
std::optional<int64_t> trace_duration_ns(std::string_view text, bool nanoseconds);

// FNV-1a, folded to 32 bits.
uint32_t hash32(std::string_view a, std::string_view b = {});

namespace json_detail {
// Moves `at` behind the value that begins there and yields it; false: not sound.
bool take_value(std::string_view text, size_t& at, std::string_view& value);
bool take_key(std::string_view text, size_t& at, std::string_view& key);
}  // namespace json_detail

template <typename Each>
void json_fields(std::string_view object, Each&& each) {
  size_t at = 1;
  std::string_view key, value;
  while (json_detail::take_key(object, at, key) && json_detail::take_value(object, at, value))
    if (!each(key, value)) return;
}

}  // namespace firstwait
