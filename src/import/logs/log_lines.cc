#include "import/logs/log_lines.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace firstwait {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word(char c) { return is_digit(c) || is_letter(c) || c == '_'; }

// A whole rank number of at most seven digits.
int32_t small_number(std::string_view digits) {
  if (digits.empty() || digits.size() > 7 || !std::all_of(digits.begin(), digits.end(), is_digit))
    return -1;
  return static_cast<int32_t>(parse_int(digits).value_or(-1));
}

struct Stamp {
  Ns time = kNoTime;
  size_t length = 0;
  bool whole_seconds = false;
};

// A date and time at the start of `s`: ISO 8601, "2024/05/08 …" or "05/08/2024 …", with "." or ","
// before a fraction.
Stamp stamp_at(std::string_view s) {
  Stamp out;
  if (s.size() < 19 || !is_digit(s[0]) || s[13] != ':' || s[16] != ':') return out;
  std::string iso(s.substr(0, 19));
  if (iso[2] == '/' && iso[5] == '/') {  // month first, as American frameworks write it
    iso = iso.substr(6, 4) + "-" + iso.substr(0, 2) + "-" + iso.substr(3, 2) + iso.substr(10);
  } else if (iso[4] == '/' && iso[7] == '/') {
    iso[4] = iso[7] = '-';
  }
  size_t end = 19;
  if (end + 1 < s.size() && (s[end] == '.' || s[end] == ',') && is_digit(s[end + 1])) {
    ++end;
    while (end < s.size() && is_digit(s[end])) ++end;
  }
  out.whole_seconds = end == 19;
  iso += s.substr(19, end - 19);
  if (end < s.size() && s[end] == 'Z') {
    iso += 'Z';
    ++end;
  } else if (end + 4 < s.size() && (s[end] == '+' || s[end] == '-') && is_digit(s[end + 1]) &&
             is_digit(s[end + 2])) {
    size_t zone = end + 3;
    if (s[zone] == ':') ++zone;
    if (zone + 1 < s.size() && is_digit(s[zone]) && is_digit(s[zone + 1])) {
      iso += s.substr(end, zone + 2 - end);
      end = zone + 2;
    }
  }
  const auto time = parse_iso8601_ns(iso);
  if (!time) return {};
  out.time = *time;
  out.length = end;
  return out;
}

// Seconds since the epoch as "1715114944.286869".
Stamp epoch_seconds(std::string_view s) {
  Stamp out;
  const size_t dot = s.find('.');
  if (dot != 10 || s.size() < 12 || s.front() != '1') return out;
  if (const auto time = parse_time_ns(s)) {
    out.time = *time;
    out.length = s.size();
  }
  return out;
}

bool level_word(std::string_view word) {
  constexpr std::array<std::string_view, 8> kLevels = {"info",  "warning",  "warn",  "error",
                                                       "debug", "critical", "fatal", "trace"};
  const std::string lower = to_lower(word);
  return std::find(kLevels.begin(), kLevels.end(), lower) != kLevels.end();
}

// "rank3", "Rank 3", "default3", "worker-3": the number behind a word that means a process.
int32_t named_rank(std::string_view s) {
  constexpr std::array<std::string_view, 6> kWords = {"global_rank", "rank",   "default",
                                                      "trainer",     "worker", "proc"};
  const std::string lower = to_lower(s);
  for (const auto word : kWords) {
    if (lower.compare(0, word.size(), word) != 0) continue;
    std::string_view rest = s.substr(word.size());
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '=' || rest.front() == '-' ||
                             rest.front() == ':' || rest.front() == '_'))
      rest.remove_prefix(1);
    return small_number(rest);
  }
  return -1;
}

// The content of a bracket at the start of a line. True when it is a prefix to be taken off.
bool read_bracket(std::string_view inside, std::string_view behind, LinePrefix& out) {
  inside = trim(inside);
  Stamp stamp = stamp_at(inside);
  if (stamp.length == 0) stamp = epoch_seconds(inside);
  if (stamp.length != 0) {
    if (out.time == kNoTime) {
      out.time = stamp.time;
      out.whole_seconds = stamp.whole_seconds;
    }
    return true;
  }
  if (const int32_t rank = named_rank(inside); rank >= 0) {
    out.rank = rank;
    return true;
  }
  const size_t comma = inside.find(',');
  if (comma != std::string_view::npos &&
      (behind.substr(0, 8) == "<stdout>" || behind.substr(0, 8) == "<stderr>")) {
    out.rank = small_number(inside.substr(comma + 1));
    return out.rank >= 0;
  }
  if (level_word(inside) || contains(inside, ".py:") || contains(inside, "pid=")) return true;
  // "NeMo I 2024-05-07 20:39:57 megatron_init:265", "INFO 2024-05-08 10:10:10 logging:96"
  for (size_t i = 0; i + 19 <= inside.size() && i < 24; ++i) {
    if (i > 0 && inside[i - 1] != ' ' && inside[i - 1] != '|') continue;
    const Stamp within = stamp_at(inside.substr(i));
    if (within.length == 0) continue;
    if (out.time == kNoTime) {
      out.time = within.time;
      out.whole_seconds = within.whole_seconds;
    }
    return true;
  }
  return inside.size() < 24 && !inside.empty() &&
         std::all_of(inside.begin(), inside.end(), is_letter);
}

void skip_separators(std::string_view& s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t' || s.front() == ':' ||
                        s.front() == '-' || s.front() == '|'))
    s.remove_prefix(1);
}

// Takes one piece of prefix off `s`; false when there is none.
bool take_prefix(std::string_view& s, LinePrefix& out) {
  const std::string_view before = s;
  if (s.front() == '[' || s.front() == '(') {
    const size_t close = s.find(s.front() == '[' ? ']' : ')');
    if (close == std::string_view::npos || close > 120) return false;
    const std::string_view behind = s.substr(close + 1);
    if (s.front() == '(' && !contains(s.substr(0, close), "pid=") &&
        named_rank(s.substr(1, close - 1)) < 0)
      return false;
    if (!read_bracket(s.substr(1, close - 1), behind, out)) return false;
    s = behind;
    if (s.substr(0, 8) == "<stdout>" || s.substr(0, 8) == "<stderr>") s.remove_prefix(8);
    skip_separators(s);
    return true;
  }
  if (const Stamp stamp = stamp_at(s); stamp.length != 0) {
    if (out.time == kNoTime) {
      out.time = stamp.time;
      out.whole_seconds = stamp.whole_seconds;
    }
    s.remove_prefix(stamp.length);
    skip_separators(s);
    for (const std::string_view stream : {"stdout F ", "stderr F ", "stdout P ", "stderr P "})
      if (s.substr(0, stream.size()) == stream) s.remove_prefix(stream.size());
    return true;
  }
  size_t word = 0;
  while (word < s.size() && is_word(s[word])) ++word;
  if (word == 0) {
    if (s.front() != '|' && s.front() != '-') return false;
    skip_separators(s);
    return s.size() < before.size() && before.size() - s.size() < 4;
  }
  const std::string_view first = s.substr(0, word);
  const std::string_view behind = s.substr(word);
  if (is_digit(s.front()) && out.rank < 0 && behind.substr(0, 2) == ": ") {
    out.rank = small_number(first);
    if (out.rank < 0) return false;
    s = behind.substr(2);
    return true;
  }
  if (level_word(first) && !behind.empty() && (behind.front() == ' ' || behind.front() == ':')) {
    s = behind;
    skip_separators(s);
    return true;
  }
  // "rank 3: …", "Rank 3 | …"
  size_t colon = std::min(s.find(':'), s.find('|'));
  if (colon != std::string_view::npos && colon < 20 && out.rank < 0) {
    const int32_t rank = named_rank(trim(s.substr(0, colon)));
    if (rank >= 0) {
      out.rank = rank;
      s.remove_prefix(colon + 1);
      skip_separators(s);
      return true;
    }
  }
  // A host before a bracketed prefix, as pdsh writes it: "worker-0: [2024-05-08 10:10:10,123] …".
  colon = s.find(": [");
  if (colon != std::string_view::npos && colon < 64 &&
      s.substr(0, colon).find(' ') == std::string_view::npos &&
      stamp_at(s.substr(colon + 3)).length != 0) {
    s.remove_prefix(colon + 2);
    return true;
  }
  return false;
}

}  // namespace

std::string_view without_ansi(std::string_view text, std::string& buffer) {
  if (text.find('\x1b') == std::string_view::npos) return text;
  buffer.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      buffer.push_back(text[i]);
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '[') {
      i += 2;
      while (i < text.size() && (text[i] < '@' || text[i] > '~'))
        ++i;  // parameters, then one final byte
    } else {
      ++i;  // a two-byte sequence
    }
  }
  return buffer;
}

void LogLines::emit(std::string_view raw, bool terminated) {
  line(without_ansi(raw, clean_), number_, terminated);
}

void LogLines::feed(std::string_view chunk) {
  while (!chunk.empty()) {
    const size_t end = chunk.find_first_of("\n\r");
    const bool whole = end != std::string_view::npos;
    std::string_view piece = chunk.substr(0, whole ? end : chunk.size());
    const bool newline = whole && chunk[end] == '\n';
    chunk.remove_prefix(whole ? end + 1 : chunk.size());
    if (!dropping_ && partial_.size() + piece.size() > kMaxLine) {
      dropping_ = true;
      partial_.clear();
      too_long(number_);
    }
    if (!whole) {
      if (!dropping_) partial_.append(piece);
      return;
    }
    if (!dropping_) {
      if (!partial_.empty()) {
        partial_.append(piece);
        piece = partial_;
      }
      if (!piece.empty()) emit(piece, true);
    }
    dropping_ = false;
    partial_.clear();
    if (newline) ++number_;
  }
}

void LogLines::finish(bool complete) {
  if (!partial_.empty()) emit(partial_, false);
  partial_.clear();
  end(complete);
}

LinePrefix read_prefix(std::string_view line) {
  LinePrefix out;
  std::string_view s = trim(line);
  for (int i = 0; i < 8 && !s.empty(); ++i)
    if (!take_prefix(s, out)) break;
  out.rest = trim(s);
  return out;
}

LinePrefix find_stamp(std::string_view text) {
  LinePrefix out;
  out.rest = text;
  for (size_t i = 0; i + 19 <= text.size(); ++i) {
    if (!is_digit(text[i]) || (i > 0 && is_word(text[i - 1]))) continue;
    const Stamp stamp = stamp_at(text.substr(i));
    if (stamp.length == 0) continue;
    out.time = stamp.time;
    out.whole_seconds = stamp.whole_seconds;
    break;
  }
  return out;
}

void read_tokens(std::string_view text, std::vector<LogToken>& out) {
  constexpr size_t kMaxTokens = 64, kMaxKey = 64;
  out.clear();
  size_t key_from = 0;
  for (size_t i = 0; i < text.size() && out.size() < kMaxTokens;) {
    if (!is_digit(text[i])) {
      if (text[i] == '|' || text[i] == ',' || text[i] == ';' || text[i] == '{' || text[i] == '}' ||
          text[i] == ']' || text[i] == '\t')
        key_from = i + 1;
      ++i;
      continue;
    }
    const size_t begin = i;
    size_t end = i;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1])) {
      ++end;
      while (end < text.size() && is_digit(text[end])) ++end;
    }
    if (end + 1 < text.size() && (text[end] == 'e' || text[end] == 'E')) {
      size_t exponent = end + 1;
      if (text[exponent] == '+' || text[exponent] == '-') ++exponent;
      if (exponent < text.size() && is_digit(text[exponent])) {
        while (exponent < text.size() && is_digit(text[exponent])) ++exponent;
        end = exponent;
      }
    }
    i = end;
    const char before = begin == 0 ? ' ' : text[begin - 1];
    if (is_word(before) || before == '.') continue;  // part of a word: "fp16", "node07"
    LogToken token;
    const size_t number_from =
        before == '-' && (begin < 2 || !is_word(text[begin - 2])) ? begin - 1 : begin;
    token.number = text.substr(number_from, end - number_from);
    size_t unit = end;
    if (unit + 1 < text.size() && text[unit] == ' ' && is_letter(text[unit + 1])) {
      size_t stop = unit + 1;
      while (stop < text.size() && (is_letter(text[stop]) || text[stop] == '/')) ++stop;
      const std::string_view word = text.substr(unit + 1, stop - unit - 1);
      if (time_unit_ns(word) != 0 || word == "it/s" || word == "s/it") {
        token.unit = word;
        i = stop;
      }
    } else {
      while (unit < text.size() && (is_letter(text[unit]) || (text[unit] == '/' && unit > end) ||
                                    static_cast<unsigned char>(text[unit]) >= 0x80))
        ++unit;
      token.unit = text.substr(end, unit - end);
      i = unit;
    }
    std::string_view key = text.substr(key_from, begin - key_from);
    if (key.size() > kMaxKey) key.remove_prefix(key.size() - kMaxKey);
    key = trim(key);
    token.after_slash = !key.empty() && key.back() == '/' && key.size() == 1;
    const auto edge = [](char c) { return !is_letter(c) && !is_digit(c); };
    while (!key.empty() && edge(key.front())) key.remove_prefix(1);
    while (!key.empty() && edge(key.back()) && key.back() != ')' && key.back() != '/')
      key.remove_suffix(1);
    bool blank = false;
    for (const char c : key) {
      if (c == '_' || c == '-' || c == ' ' || c == '\t') {
        blank = !token.key.empty();
        continue;
      }
      if (blank) token.key.push_back(' ');
      blank = false;
      token.key.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    }
    out.push_back(std::move(token));
    key_from = i;
  }
}

int32_t rank_hint(std::string_view path) {
  const size_t slash = path.find_last_of('/');
  const std::string name =
      to_lower(slash == std::string_view::npos ? path : path.substr(slash + 1));
  const size_t at = name.find("rank");
  if (at != std::string::npos) {
    size_t i = at + 4;
    while (i < name.size() && (name[i] == '_' || name[i] == '-' || name[i] == '.')) ++i;
    size_t end = i;
    while (end < name.size() && is_digit(name[end])) ++end;
    if (end > i) return small_number(std::string_view(name).substr(i, end - i));
  }
  if (slash != std::string_view::npos &&
      (name.rfind("stdout", 0) == 0 || name.rfind("stderr", 0) == 0)) {
    std::string_view folder = path.substr(0, slash);
    const size_t parent = folder.find_last_of('/');
    if (parent != std::string_view::npos) folder.remove_prefix(parent + 1);
    return small_number(folder);
  }
  return -1;
}

std::string file_stem(std::string_view path) {
  const size_t slash = path.find_last_of("/:");
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  for (const std::string_view packed : {".gz", ".zst", ".zstd"})
    if (path.size() > packed.size() && path.substr(path.size() - packed.size()) == packed)
      path.remove_suffix(packed.size());
  const size_t dot = path.find_last_of('.');
  return std::string(dot == std::string_view::npos || dot == 0 ? path : path.substr(0, dot));
}

int64_t time_unit_ns(std::string_view unit) {
  struct Unit {
    std::string_view name;
    int64_t ns;
  };
  constexpr int64_t kUs = 1000, kMs = 1'000'000, kS = 1'000'000'000;
  constexpr std::array<Unit, 26> kUnits = {{{"s", kS},
                                            {"sec", kS},
                                            {"secs", kS},
                                            {"second", kS},
                                            {"seconds", kS},
                                            {"s/it", kS},
                                            {"s/iter", kS},
                                            {"s/step", kS},
                                            {"sec/step", kS},
                                            {"ms", kMs},
                                            {"msec", kMs},
                                            {"millis", kMs},
                                            {"milliseconds", kMs},
                                            {"ms/it", kMs},
                                            {"ms/iter", kMs},
                                            {"ms/step", kMs},
                                            {"us", kUs},
                                            {"usec", kUs},
                                            {"microseconds", kUs},
                                            {"\xc2\xb5s", kUs},
                                            {"\xce\xbcs", kUs},
                                            {"ns", 1},
                                            {"nsec", 1},
                                            {"nanoseconds", 1},
                                            {"min", 60 * kS},
                                            {"minutes", 60 * kS}}};
  const std::string lower = to_lower(unit);
  for (const auto& u : kUnits)
    if (u.name == lower) return u.ns;
  return 0;
}

}  // namespace firstwait
