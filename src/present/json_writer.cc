#include "present/json_writer.h"

#include <fmt/format.h>

#include <cmath>

#include "present/utf8.h"

namespace firstwait {

void append_json_string(std::string& out, std::string_view value) {
  out.push_back('"');
  while (!value.empty()) {
    const char32_t c = next_code_point(value);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (c < 0x20 || c == '<' || c == 0x7F || c == 0x2028 || c == 0x2029) {
          out += fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
        } else {
          append_utf8(out, c);
        }
    }
  }
  out.push_back('"');
}

std::string decimal_seconds(Ns value) {
  constexpr uint64_t kBillion = 1'000'000'000;
  const uint64_t magnitude =
      value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::string out = fmt::format("{}{}", value < 0 ? "-" : "", magnitude / kBillion);
  if (magnitude % kBillion != 0) {
    out += fmt::format(".{:09}", magnitude % kBillion);
    while (out.back() == '0') out.pop_back();
  }
  return out;
}

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
  } else if (!first_) {
    out_.push_back(',');
  }
  first_ = false;
}

JsonWriter& JsonWriter::open(char c) {
  separate();
  out_.push_back(c);
  ++depth_;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close(char c) {
  --depth_;
  if (depth_ == 0) out_.push_back('\n');
  out_.push_back(c);
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  if (depth_ == 1)
    out_.push_back('\n');  // one line for each top-level key: readable, and diffs stay small
  append_json_string(out_, name);
  out_.push_back(':');
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  separate();
  append_json_string(out_, value);
  return *this;
}
JsonWriter& JsonWriter::text_or_null(std::string_view value) {
  return value.empty() ? null() : text(value);
}
JsonWriter& JsonWriter::number(double value) {
  if (!std::isfinite(value)) return null();
  separate();
  out_ += fmt::format("{}", value == 0 ? 0.0 : value);
  return *this;
}
JsonWriter& JsonWriter::number(std::optional<double> value) {
  return value ? number(*value) : null();
}
JsonWriter& JsonWriter::integer(int64_t value) {
  separate();
  out_ += std::to_string(value);
  return *this;
}
JsonWriter& JsonWriter::integer_or_null(int64_t value) {
  return value < 0 ? null() : integer(value);
}
JsonWriter& JsonWriter::seconds(Ns value) {
  if (value == kNoTime) return null();
  separate();
  out_ += decimal_seconds(value);
  return *this;
}
JsonWriter& JsonWriter::boolean(bool value) {
  separate();
  out_ += value ? "true" : "false";
  return *this;
}
JsonWriter& JsonWriter::null() {
  separate();
  out_ += "null";
  return *this;
}

}  // namespace firstwait
