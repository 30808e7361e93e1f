#include "import/chrome/json_text.h"

#include "base/saturate.h"
#include "base/text.h"

namespace firstwait {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t string_end(std::string_view text, size_t at) {
  for (; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at;
    }
  }
  return std::string_view::npos;
}

int hex(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// The four hexadecimal digits at `at`, or -1.
int32_t code_unit(std::string_view raw, size_t at) {
  if (at + 4 > raw.size()) return -1;
  int32_t code = 0;
  for (size_t i = at; i < at + 4; ++i) {
    const int digit = hex(raw[i]);
    if (digit < 0) return -1;
    code = code * 16 + digit;
  }
  return code;
}

}  // namespace

namespace json_detail {

bool take_key(std::string_view text, size_t& at, std::string_view& key) {
  while (at < text.size() && (is_blank(text[at]) || text[at] == ',')) ++at;
  if (at >= text.size() || text[at] != '"') return false;
  const size_t end = string_end(text, at + 1);
  if (end == std::string_view::npos) return false;
  key = text.substr(at + 1, end - at - 1);
  at = end + 1;
  while (at < text.size() && is_blank(text[at])) ++at;
  if (at >= text.size() || text[at] != ':') return false;
  ++at;
  return true;
}

bool take_value(std::string_view text, size_t& at, std::string_view& value) {
  while (at < text.size() && is_blank(text[at])) ++at;
  if (at >= text.size()) return false;
  const size_t begin = at;
  if (text[at] == '"') {
    const size_t end = string_end(text, at + 1);
    if (end == std::string_view::npos) return false;
    value = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return true;
  }
  if (text[at] == '{' || text[at] == '[') {
    size_t depth = 0;
    for (; at < text.size(); ++at) {
      const char c = text[at];
      if (c == '"') {
        at = string_end(text, at + 1);
        if (at == std::string_view::npos) return false;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if ((c == '}' || c == ']') && --depth == 0) {
        value = text.substr(begin, ++at - begin);
        return true;
      }
    }
    return false;
  }
  while (at < text.size() && !is_blank(text[at]) && text[at] != ',' && text[at] != '}' &&
         text[at] != ']')
    ++at;
  value = text.substr(begin, at - begin);
  return at > begin;
}

}  // namespace json_detail

std::string_view json_field(std::string_view object, std::string_view wanted) {
  std::string_view found;
  json_fields(object, [&](std::string_view key, std::string_view value) {
    if (key != wanted) return true;
    found = value;
    return false;
  });
  return found;
}

std::string json_unescape(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      out += raw[i];
      continue;
    }
    const char c = raw[++i];
    switch (c) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case '"':
      case '\\':
      case '/':
        out += c;
        break;
      case 'u': {
        int32_t code = code_unit(raw, i + 1);
        if (code < 0) {
          out += "\\u";
          break;
        }
        i += 4;
        if (code >= 0xd800 && code < 0xdc00 && raw.substr(i + 1).starts_with("\\u")) {
          const int32_t low = code_unit(raw, i + 3);
          if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            i += 6;
          }
        }
        if (code >= 0xd800 && code < 0xe000) code = 0xfffd;  // half of a pair
        append_utf8(out, static_cast<uint32_t>(code));
        break;
      }
      default:
        out += '\\';
        out += c;
    }
  }
  return out;
}

namespace {

constexpr int64_t kSurelyNanoseconds = 100'000'000'000'000'000;  // as microseconds: the year 5138

std::optional<int64_t> within(std::optional<int64_t> ns, int64_t least, int64_t most) {
  if (!ns || *ns > most || *ns < least) return std::nullopt;
  return ns;
}
std::optional<int64_t> time_within(std::optional<int64_t> ns) {
  return within(ns, kEarliestTime, kLatestTime);
}
std::optional<int64_t> duration_within(std::optional<int64_t> ns) {
  return within(ns, -kLongestTime, kLongestTime);
}

// Microseconds of at most 16 digits before the point, which nearly all are; nothing otherwise.
std::optional<int64_t> short_microseconds(std::string_view text) {
  size_t i = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) ++i;
  const size_t begin = i;
  int64_t whole = 0;
  while (i < text.size() && is_digit(text[i]) && i - begin < 17)
    whole = whole * 10 + (text[i++] - '0');
  if (i == begin || i - begin > 16 || whole >= kLatestTime / 1000) return std::nullopt;
  int64_t fraction = 0, unit = 100;
  if (i < text.size() && text[i] == '.')
    for (++i; i < text.size() && is_digit(text[i]); ++i, unit /= 10)
      fraction += (text[i] - '0') * unit;
  if (i != text.size()) return std::nullopt;
  const int64_t ns = whole * 1000 + fraction;
  return negative ? -ns : ns;
}

}  // namespace

std::optional<int64_t> trace_time_ns(std::string_view text, bool& nanoseconds) {
  nanoseconds = false;
  if (const auto ns = short_microseconds(text)) return time_within(ns);
  const auto plain = parse_scaled_ns(text, 1);
  nanoseconds = plain && (*plain >= kSurelyNanoseconds || *plain <= -kSurelyNanoseconds);
  return time_within(nanoseconds ? plain : parse_scaled_ns(text, 1000));
}

std::optional<int64_t> trace_duration_ns(std::string_view text, bool nanoseconds) {
  if (nanoseconds) return duration_within(parse_scaled_ns(text, 1));
  if (const auto ns = short_microseconds(text)) return duration_within(ns);
  return duration_within(parse_scaled_ns(text, 1000));
}

uint32_t hash32(std::string_view a, std::string_view b) {
  uint64_t h = 14695981039346656037u;
  const auto add = [&](std::string_view s) {
    for (const char c : s) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  };
  add(a);
  h = (h ^ 0xffu) * 1099511628211u;
  add(b);
  return static_cast<uint32_t>(h ^ (h >> 32));
}

}  // namespace firstwait
