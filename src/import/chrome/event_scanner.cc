#include "import/chrome/event_scanner.h"

#include <algorithm>
#include <cstring>

namespace firstwait {
namespace {

constexpr size_t kNone = JsonIndex::kNone;
// The index of a piece stays in the first-level cache.
constexpr size_t kPiece = 64 << 10;
constexpr size_t kPieceBehindDamage = 2 << 10;
constexpr size_t kMaxEvent = 4 << 20;
constexpr size_t kMaxIgnored = 512;
constexpr size_t kMaxTopLevel = 64 << 20;
constexpr size_t kMaxUnwanted =
    1 << 20;  // a top-level value larger than this is skipped as it streams by

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Values that say something about the rank; others need not be kept whole.
bool is_wanted(std::string_view key) {
  return key == "distributedInfo" || key == "deviceProperties";
}

bool is_event_key(std::string_view text) {
  for (const std::string_view key : {"ph\"", "name\"", "cat\"", "pid\"", "tid\"", "ts\"", "dur\"",
                                     "id\"", "args\"", "s\"", "bp\"", "tts\""})
    if (text.starts_with(key)) return true;
  return false;
}

}  // namespace

size_t EventScanner::skip_blank(size_t at) const {
  const std::string_view text = index_.text();
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}

void EventScanner::feed(std::string_view chunk) {
  if (!carry_.empty()) {
    // Only as much as the item at hand needs is copied; the rest is scanned where it lies.
    while (!carry_.empty()) {
      if (chunk.empty()) return;
      const size_t old = carry_.size();
      const size_t want = wanted_ > old ? wanted_ - old : old;
      const size_t take = std::min(chunk.size(), std::max<size_t>(want, 256));
      carry_.append(chunk.substr(0, take));
      if (carry_.size() < wanted_) return;
      const size_t used = scan(carry_, false);
      offset_ += used;
      if (used >= old) {
        chunk.remove_prefix(used - old);
        carry_.clear();
        wanted_ = 0;
      } else {
        chunk.remove_prefix(take);
        carry_.erase(0, used);
        wanted_ = std::max<size_t>(256, 2 * carry_.size());
      }
    }
  }
  size_t piece = kPiece;
  while (!chunk.empty()) {
    const std::string_view text = chunk.substr(0, piece);
    const size_t used = scan(text, false);
    offset_ += used;
    chunk.remove_prefix(used);
    if (used > 0) {
      // Little of the piece behind a damage is used: an index of all of it would be built again and
      // again.
      piece = state_ == State::resync ? kPieceBehindDamage : std::min(kPiece, 2 * piece);
    } else if (text.size() == chunk.size()) {
      carry_.assign(chunk);
      wanted_ = std::max<size_t>(256, 2 * carry_.size());
      return;
    } else {
      piece *= 2;
    }
  }
}

bool EventScanner::finish() {
  std::string rest;
  rest.swap(carry_);
  std::string_view left = rest;
  size_t piece = kPiece;
  while (!left.empty()) {
    const std::string_view text = left.substr(0, piece);
    const bool all = text.size() == left.size();
    size_t used = scan(text, all);
    if (used == 0 && !all) {
      piece *= 2;
      continue;
    }
    if (used == 0) {
      // An event without an end: cut, or damaged, and then there are events behind it.
      if (state_ != State::array) break;
      remember_previous(left.substr(0, 1));
      state_ = State::resync;
      used = 1 + find_event(left.substr(1), true);
      if (state_ != State::array) break;
      handler_.invalid(offset_);
    }
    piece = state_ == State::resync ? kPieceBehindDamage : std::min(kPiece, 2 * piece);
    offset_ += used;
    left.remove_prefix(used);
  }
  return state_ == State::done;
}

size_t EventScanner::scan(std::string_view piece, bool last) {
  if (state_ == State::resync) {
    const size_t at = find_event(piece, last);
    remember_previous(piece.substr(0, at));
    if (at > 0 || state_ == State::resync) return at;
  }
  size_t at = 0;
  if (state_ == State::skip) {
    if (scan_skip(piece, at) == Step::damaged) return resync_behind(piece, at);
    remember_previous(piece.substr(0, at));
    return at;
  }
  index_.build(piece);
  for (;;) {
    Step step = Step::stop;
    switch (state_) {
      case State::start:
        step = scan_start(at, last);
        break;
      case State::object:
        step = scan_object(at, last);
        break;
      case State::array:
        step = scan_array(at, last);
        break;
      case State::done:
        at = skip_blank(at);
        step = at < piece.size() ? Step::damaged : Step::stop;
        break;
      case State::skip:
      case State::resync:
        break;
    }
    if (step == Step::more) continue;
    return step == Step::stop ? at : resync_behind(piece, at);
  }
}

// The byte at `at` is where the damage was noticed; the search for an event begins behind it.
size_t EventScanner::resync_behind(std::string_view piece, size_t at) {
  handler_.invalid(offset_ + at);
  state_ = State::resync;
  at = std::min(at + 1, piece.size());
  remember_previous(piece.substr(0, at));
  return at;
}

void EventScanner::remember_previous(std::string_view dropped) {
  const size_t at = dropped.find_last_not_of(" \n\r\t");
  if (at != std::string_view::npos) previous_ = dropped[at];
}

// Sets the state to array where an event may begin, and returns that position. Otherwise what can
// be dropped.
size_t EventScanner::find_event(std::string_view piece, bool last) {
  constexpr size_t kAhead = 64;  // an event begins with its first key not further away than this
  for (size_t at = 0;; ++at) {
    at = piece.find('{', at);
    if (at == std::string_view::npos) return piece.size();
    if (at + kAhead > piece.size() && !last) return at;
    size_t before = at;
    while (before > 0 && is_blank(piece[before - 1])) --before;
    const char previous = before > 0 ? piece[before - 1] : previous_;
    if (previous != ',' && previous != '[' && previous != '}' && previous != '{') continue;
    const std::string_view head = piece.substr(at, kAhead);
    const size_t key = head.find_first_not_of(" \n\r\t", 1);
    if (key == std::string_view::npos || head[key] != '"' || !is_event_key(head.substr(key + 1)))
      continue;
    state_ = State::array;
    return at;
  }
}

EventScanner::Step EventScanner::scan_start(size_t& at, bool last) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  const std::string_view text = index_.text();
  if (offset_ + at == 0) {
    if (text.starts_with(kByteOrderMark)) {
      at += kByteOrderMark.size();
    } else if (kByteOrderMark.starts_with(text) && !last) {
      return Step::stop;
    }
  }
  at = skip_blank(at);
  if (at == text.size()) return Step::stop;
  if (text[at] != '{' && text[at] != '[') return Step::damaged;
  in_object_ = text[at] == '{';
  state_ = in_object_ ? State::object : State::array;
  ++at;
  return Step::more;
}

EventScanner::Value EventScanner::value_at(size_t at, size_t limit, bool last) const {
  using Kind = Value::Kind;
  const std::string_view text = index_.text();
  const char c = text[at];
  size_t end = kNone;
  bool sound = true;
  if (c == '{' || c == '[') {
    const JsonIndex::End close = index_.skip_container(at);
    end = close.at;
    // The closing bracket's kind differs from the opening one's by two in ASCII.
    sound = !close.too_deep && (end == kNone || text[end - 1] == c + 2);
  } else if (c == '"') {
    const size_t quote = index_.next_quote(at + 1);
    if (quote != kNone) end = quote + 1;
  } else {
    const size_t behind = text.find_first_of(" \n\r\t,}]\"\\", at);
    end = behind == std::string_view::npos ? (last ? text.size() : kNone) : behind;
    // What begins behind a number must not begin inside a string.
    sound = end != at &&
            (behind == std::string_view::npos || (text[behind] != '"' && text[behind] != '\\'));
  }
  // A string that a line break cut makes everything behind it doubtful.
  if (index_.damage() < end) {
    end = index_.damage();
    sound = false;
  }
  if ((end == kNone ? text.size() : end) - at > limit) return {Kind::too_long};
  if (end == kNone) return {Kind::more};
  return {sound ? Kind::whole : Kind::damaged, end};
}

EventScanner::Step EventScanner::scan_object(size_t& at, bool last) {
  const std::string_view text = index_.text();
  while (at < text.size() && (is_blank(text[at]) || text[at] == ',')) ++at;
  if (at == text.size()) return Step::stop;
  if (text[at] == '}') {
    ++at;
    state_ = State::done;
    return Step::more;
  }
  if (text[at] != '"') return Step::damaged;
  const size_t key_end = index_.next_quote(at + 1);
  if (index_.damage() < key_end) return Step::damaged;
  size_t value = key_end == kNone ? text.size() : skip_blank(key_end + 1);
  if (value < text.size() && text[value] != ':') return Step::damaged;
  if (value < text.size()) value = skip_blank(value + 1);
  if (value - at > kMaxUnwanted) return Step::damaged;
  if (value == text.size()) return Step::stop;
  const std::string_view name = text.substr(at + 1, key_end - at - 1);
  if (name == "traceEvents" && text[value] == '[') {
    at = value + 1;
    state_ = State::array;
    return Step::more;
  }
  const Value v = value_at(value, is_wanted(name) ? kMaxTopLevel : kMaxUnwanted, last);
  switch (v.kind) {
    case Value::Kind::more:
      return Step::stop;
    case Value::Kind::damaged:
      return Step::damaged;
    case Value::Kind::whole:
      handler_.top_level(name, text.substr(value, v.end - value));
      at = v.end;
      return Step::more;
    case Value::Kind::too_long:
      break;
  }
  if (text[value] != '{' && text[value] != '[') return Step::damaged;
  at = value;
  skip_ = {};
  state_ = State::skip;
  return Step::stop;
}

// Byte by byte, because the piece may begin anywhere; it sees strings and escapes as the index
// does.
EventScanner::Step EventScanner::scan_skip(std::string_view piece, size_t& at) {
  for (; at < piece.size(); ++at) {
    const char c = piece[at];
    const bool quote = c == '"' && !skip_.escaped;
    skip_.escaped = c == '\\' && !skip_.escaped;
    if (quote) {
      skip_.in_string = !skip_.in_string;
    } else if (skip_.in_string) {
      if (c == '\n') return Step::damaged;
    } else if (c == '{' || c == '[') {
      if (++skip_.depth > JsonIndex::kMaxDepth) return Step::damaged;
    } else if ((c == '}' || c == ']') && --skip_.depth == 0) {
      ++at;
      state_ = State::object;
      return Step::stop;
    }
  }
  return Step::stop;
}

EventScanner::Step EventScanner::scan_array(size_t& at, bool last) {
  const std::string_view text = index_.text();
  while (at < text.size() && (is_blank(text[at]) || text[at] == ',')) ++at;
  if (at == text.size()) return Step::stop;
  if (text[at] == ']') {
    ++at;
    state_ = in_object_ ? State::object : State::done;
    return Step::more;
  }
  if (text[at] != '{') return Step::damaged;
  const Value v = value_at(at, kMaxEvent, last);
  switch (v.kind) {
    case Value::Kind::more:
      return Step::stop;
    case Value::Kind::too_long:
      // Looking again behind each of many such starts would take for ever.
      if (++limit_failures_ > 8) at += kMaxEvent;
      return Step::damaged;
    case Value::Kind::damaged:
      return Step::damaged;
    case Value::Kind::whole:
      break;
  }
  if (!read_event(at, v.end)) return Step::damaged;
  limit_failures_ = 0;
  at = v.end;
  return Step::more;
}

bool EventScanner::read_event(size_t at, size_t end) {
  const std::string_view text = index_.text();
  const char* const p = text.data();
  ++events_;
  TraceEvent e;
  size_t i = at + 1;
  const size_t close = end - 1;
  for (;;) {
    // The closing brace ends every scan below.
    while (is_blank(p[i]) || p[i] == ',') ++i;
    if (i == close) break;
    if (p[i] != '"') return false;
    const size_t key_end = index_.next_quote(i + 1);
    if (key_end >= close) return false;
    const std::string_view key(p + i + 1, key_end - i - 1);
    i = key_end + 1;
    while (is_blank(p[i])) ++i;
    if (p[i] != ':') return false;
    ++i;
    while (is_blank(p[i])) ++i;
    std::string_view value;
    const char c = p[i];
    if (c == '"') {
      const size_t value_end = index_.next_quote(i + 1);
      if (value_end >= close) return false;
      value = {p + i + 1, value_end - i - 1};
      i = value_end + 1;
    } else if (c == '{' || c == '[') {
      const size_t value_end = index_.skip_container(i).at;
      if (value_end > close || p[value_end - 1] != c + 2) return false;
      value = {p + i, value_end - i};
      i = value_end;
    } else {
      const size_t begin = i;
      while (!is_blank(p[i]) && p[i] != ',' && p[i] != '}' && p[i] != ']' && p[i] != '"') ++i;
      if (i == begin || i > close) return false;
      value = {p + begin, i - begin};
    }
    switch (key.size()) {
      case 2:
        if (key == "ph") {
          e.ph = value.empty() ? '\0' : value[0];
          // Flows, instants and counters are of no use here. They are short: a long one is damaged.
          if (e.ph != 'X' && e.ph != 'B' && e.ph != 'E' && e.ph != 'M' && end - at < kMaxIgnored)
            return true;
        } else if (key == "ts") {
          e.ts = value;
        }
        break;
      case 3:
        if (key == "cat") {
          e.cat = value;
        } else if (key == "pid") {
          e.pid = value;
        } else if (key == "tid") {
          e.tid = value;
        } else if (key == "dur") {
          e.dur = value;
        }
        break;
      case 4:
        if (key == "name") {
          e.name = value;
        } else if (key == "args" && c == '{') {
          e.args = value;
        }
        break;
      default:
        break;
    }
  }
  if (e.ph == 0) return false;
  if (e.ph == 'X' || e.ph == 'B' || e.ph == 'E' || e.ph == 'M') handler_.event(e);
  return true;
}

}  // namespace firstwait
