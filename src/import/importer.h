// An importer: a constant descriptor, a sniff and a reader that is fed chunks. One file each in
// importers/.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/registered.h"
#include "base/result.h"
#include "model/evidence.h"

namespace firstwait {

// What the user said that importers may need.
struct ImportOptions {
  std::string log_pattern;  // regular expression with named groups for training_log; empty: none
  // Called now and then, on the caller's thread: the input being read and the bytes of it read so
  // far.
  std::function<void(std::string_view path, uint64_t bytes)> progress = {};
};

// The start of an input, decompressed, and its name (for hints only: content decides).
struct Sniff {
  std::string_view head;  // up to 64 KiB
  std::string_view path;
  const ImportOptions* options = nullptr;  // what the user said; may be null
};

struct ImportContext {
  std::string path;  // as the user gave it; used as the source name in health entries
  const ImportOptions& options;
  Evidence& out;
  std::string file = {};  // where the bytes lie on disk (needs_file importers open this); `path`
                          // may be in an archive
  void count(const HealthCounter& counter, uint64_t n = 1, std::string_view place = {}) const {
    out.health.add(path, counter, n, place);
  }
  // One line for "what was read": Source::note of this input.
  void note(std::string text) const { out.notes[path] = std::move(text); }
};

// Receives one input in chunks of any size; the rows do not depend on where it was split.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual void feed(std::string_view chunk) = 0;
  // The input ended; `complete` is false when it was cut short (a damaged archive, a read error).
  virtual void finish(bool complete) = 0;
};

struct Importer {
  std::string_view name;     // "chrome_trace"
  std::string_view summary;  // one line for `firstwait list importers`
  std::string_view formats;  // what files it takes, for the documentation
  std::span<const HealthCounter> health;
  // 0: not mine; 100: certainly mine. The highest wins, ties go to the alphabetically first.
  int (*sniff)(const Sniff&);
  std::unique_ptr<Reader> (*open)(ImportContext);
  bool needs_file = false;  // reads ImportContext::file itself (Parquet); feed is never called
};

std::span<const Registered<Importer>> importers();

// A reader for line-oriented text: collects lines across chunk borders. Lines longer than
// `max_line` are dropped and counted.
class LineReader : public Reader {
 public:
  void feed(std::string_view chunk) final;
  void finish(bool complete) final;

 protected:
  // One line without its end ("\r\n" or "\n"); `number` counts from 1.
  virtual void line(std::string_view text, uint64_t number) = 0;
  virtual void end(bool complete) = 0;
  virtual void too_long(uint64_t number) = 0;

 private:
  static constexpr size_t kMaxLine = 16 << 20;
  std::string partial_;
  bool dropping_ = false;
  uint64_t number_ = 0;
};

// A reader for small documents that are parsed as a whole (YAML, XML, JSON). Input beyond `limit`
// bytes is refused.
class WholeReader : public Reader {
 public:
  explicit WholeReader(size_t limit = size_t{256} << 20) : limit_(limit) {}
  void feed(std::string_view chunk) final;
  void finish(bool complete) final;

 protected:
  // `padded` has simdjson's padding behind the text (capacity, not size).
  virtual void document(std::string& padded, bool complete, bool too_large) = 0;

 private:
  size_t limit_;
  bool too_large_ = false;
  std::string text_;
};

}  // namespace firstwait
