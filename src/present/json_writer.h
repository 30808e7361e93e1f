// Builds JSON text in order of calls. Strings come out as valid UTF-8 with control characters and
// '<' escaped, so that the result can stand inside a page; numbers that are not finite come out as
// null.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/phase.h"

namespace firstwait {

class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& text(std::string_view value);
  JsonWriter& text_or_null(std::string_view value);  // null when empty
  JsonWriter& number(double value);
  JsonWriter& number(std::optional<double> value);
  JsonWriter& integer(int64_t value);
  JsonWriter& integer_or_null(int64_t value);  // null when negative
  JsonWriter& seconds(Ns value);               // exact decimal seconds; null for kNoTime
  JsonWriter& boolean(bool value);
  JsonWriter& null();

  std::string take() { return std::move(out_); }

 private:
  JsonWriter& open(char c);
  JsonWriter& close(char c);
  void separate();

  std::string out_;
  int depth_ = 0;
  bool first_ = true;  // nothing yet in the innermost container
  bool after_key_ = false;
};

// Appends `value` quoted and escaped as above.
void append_json_string(std::string& out, std::string_view value);
// "1764500000.25" for 1764500000250000000.
std::string decimal_seconds(Ns value);

}  // namespace firstwait
