// Cuts a stream of Chrome trace JSON into events and top-level values, without building a document.
//
// What comes out never depends on where the stream was split: every item is judged by the bytes
// from its start alone, and a verdict on some of them holds whatever follows. Items begin outside
// strings and escapes, so that the index of a piece that begins there says the same as that of a
// longer one.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "import/chrome/json_index.h"

namespace firstwait {

// One event that may become a row (ph X, B, E or M). The views hold the raw text between the
// quotation marks, or of the number; they are valid during the call. Absent fields are empty.
struct TraceEvent {
  char ph = 0;
  std::string_view name, cat, pid, tid, ts, dur;
  std::string_view args;  // with its braces
};

class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual void event(const TraceEvent& event) = 0;
  // A key beside "traceEvents" with its value's text. Values of more than 64 MiB are left out.
  virtual void top_level(std::string_view key, std::string_view value) = 0;
  // Something that is not an event or cannot be read; the scanner goes on at the next event.
  virtual void invalid(uint64_t offset) = 0;
};

class EventScanner {
 public:
  explicit EventScanner(EventHandler& handler) : handler_(handler) {}
  void feed(std::string_view chunk);
  // True when the JSON ended as it should.
  bool finish();
  // Events seen, of any kind.
  uint64_t events() const { return events_; }

 private:
  enum class State : uint8_t { start, object, array, skip, resync, done };
  enum class Step : uint8_t { more, stop, damaged };  // go on; the piece ends here; see damaged_at_

  // How the value at hand ends.
  struct Value {
    enum class Kind : uint8_t { whole, more, damaged, too_long } kind;
    size_t end = 0;  // behind it, when it is whole
  };

  // Scans a piece that begins where the last one was left; returns the bytes used up.
  size_t scan(std::string_view piece, bool last);
  Step scan_start(size_t& at, bool last);
  Step scan_object(size_t& at, bool last);
  Step scan_array(size_t& at, bool last);
  Step scan_skip(std::string_view piece, size_t& at);
  size_t resync_behind(std::string_view piece, size_t at);
  // Reads the fields of the event in [at, end); false: not sound.
  bool read_event(size_t at, size_t end);
  // The value at `at`; too long when it has more than `limit` bytes.
  Value value_at(size_t at, size_t limit, bool last) const;
  size_t find_event(std::string_view piece, bool last);
  void remember_previous(std::string_view dropped);
  size_t skip_blank(size_t at) const;

  EventHandler& handler_;
  JsonIndex index_;
  std::string carry_;    // the start of an item whose end has not come yet
  size_t wanted_ = 0;    // do not look at the carry again before it has this many bytes
  uint64_t offset_ = 0;  // of the current piece in the stream
  uint64_t events_ = 0;
  State state_ = State::start;
  bool in_object_ = false;  // the events are inside {"traceEvents": [...]}
  struct {
    int depth = 0;
    bool in_string = false, escaped = false;
  } skip_;                  // a value that streams by
  int limit_failures_ = 0;  // items in a row that never ended
  // The last character that is no blank before the current piece, while in resync or skip.
  char previous_ = ',';
};

}  // namespace firstwait
