#include "import/json_fields.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/text.h"

namespace firstwait {

std::vector<std::string_view> top_level_keys(std::string_view text) {
  std::vector<std::string_view> keys;
  size_t i = text.find_first_not_of(" \t\r\n");
  if (i == std::string_view::npos || text[i] != '{') return keys;
  int depth = 0;
  bool want_key = false;
  for (; i < text.size() && keys.size() < 256; ++i) {
    const char c = text[i];
    if (c == '"') {
      const size_t begin = ++i;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      if (i >= text.size()) break;
      if (want_key && depth == 1) keys.push_back(text.substr(begin, i - begin));
      want_key = false;
    } else if (c == '{' || c == '[') {
      ++depth;
      want_key = depth == 1;
    } else if (c == '}' || c == ']') {
      if (--depth <= 0) break;
    } else if (c == ',') {
      want_key = depth == 1;
    }
  }
  return keys;
}

bool has_key(const std::vector<std::string_view>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::optional<std::string_view> scalar_token(JsonValue value) {
  simdjson::ondemand::json_type type;
  if (value.type().get(type)) return std::nullopt;
  if (type == simdjson::ondemand::json_type::string) return json_string(value);
  if (type != simdjson::ondemand::json_type::number) return std::nullopt;
  const std::string_view token = value.raw_json_token();
  // simdjson walks over the token only when it is read.
  double ignored = 0;
  if (value.get_double().get(ignored) == simdjson::INCORRECT_TYPE) return std::nullopt;
  return trim(token);
}

Ns json_time(JsonValue value) {
  const auto token = scalar_token(value);
  if (!token) return kNoTime;
  auto ns = parse_time_ns(*token);
  if (!ns) ns = parse_iso8601_ns(*token);
  return ns && *ns <= kMaxTime && *ns >= -kMaxTime ? *ns : kNoTime;
}

Ns json_duration(JsonValue value) {
  const auto token = scalar_token(value);
  if (!token) return kNoDuration;
  const auto ns = parse_scaled_ns(*token, 1'000'000'000);
  return ns && *ns >= 0 && *ns <= kMaxDuration ? *ns : kNoDuration;
}

std::optional<int64_t> json_int(JsonValue value) {
  const auto token = scalar_token(value);
  if (!token) return std::nullopt;
  if (const auto whole = parse_int(*token)) return whole;
  const auto number = parse_double(*token);
  // 2^53: beyond it a double is not a known integer.
  if (!number || std::floor(*number) != *number || std::fabs(*number) > 9007199254740992.0)
    return std::nullopt;
  return static_cast<int64_t>(*number);
}

std::optional<int32_t> json_index(JsonValue value) {
  const auto whole = json_int(value);
  if (!whole || *whole < 0 || *whole > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(*whole);
}

double json_number(JsonValue value) {
  const auto token = scalar_token(value);
  const auto number = token ? parse_double(*token) : std::nullopt;
  return number && std::isfinite(*number) ? *number : kNaN;
}

std::optional<std::string_view> json_string(JsonValue value) {
  std::string_view text;
  if (value.get_string().get(text)) return std::nullopt;
  return text;
}

bool json_null(JsonValue value) {
  bool null = false;
  return value.is_null().get(null) == simdjson::SUCCESS && null;
}

std::string json_text(JsonValue value) {
  if (const auto text = json_string(value)) return std::string(*text);
  std::string_view raw;
  if (simdjson::to_json_string(value).get(raw)) return {};
  return std::string(trim(raw));
}

std::optional<simdjson::ondemand::object> JsonLine::object(std::string_view line) {
  line = trim(line);
  if (line.empty() || line.front() != '{') return std::nullopt;
  buffer_.reserve(line.size() + simdjson::SIMDJSON_PADDING);
  buffer_.assign(line);
  if (parser_.iterate(buffer_.data(), buffer_.size(), buffer_.capacity()).get(document_))
    return std::nullopt;
  simdjson::ondemand::object object;
  if (document_.get_object().get(object)) return std::nullopt;
  return object;
}

bool JsonLine::clean() {
  const char* rest = nullptr;
  return document_.current_location().get(rest) == simdjson::OUT_OF_BOUNDS;
}

}  // namespace firstwait
