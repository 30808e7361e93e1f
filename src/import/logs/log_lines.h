// Console logs as lines: carriage returns of progress bars end a line too, ANSI colours are taken
// out.
#pragma once
#include <string>

#include "import/importer.h"

namespace firstwait {

class LogLines : public Reader {
 public:
  void feed(std::string_view chunk) final;
  void finish(bool complete) final;

 protected:
  // One line without its end. `number` counts newlines from 1. `terminated` is false for a last
  // line without an end: the writer may have been cut in the middle of a number.
  virtual void line(std::string_view text, uint64_t number, bool terminated) = 0;
  virtual void end(bool complete) = 0;
  virtual void too_long(uint64_t number) = 0;

 private:
  static constexpr size_t kMaxLine = 64 << 10;
  void emit(std::string_view raw, bool terminated);
  std::string partial_, clean_;
  bool dropping_ = false;
  uint64_t number_ = 1;
};

// Without terminal control sequences; `buffer` holds the result when there were any.
std::string_view without_ansi(std::string_view text, std::string& buffer);

// What stands before the message of a line.
struct LinePrefix {
  Ns time = kNoTime;           // "[2024-05-08 10:10:10,123]"; no zone is read as UTC
  int32_t rank = -1;           // "[default3]:", "3: ", "[rank3]:", "[Rank 3]", "[1,3]<stdout>:"
  bool whole_seconds = false;  // the time has no fraction
  std::string_view rest;       // the message
};
LinePrefix read_prefix(std::string_view line);

// The first date and time anywhere in `text`; the message of `rest` is untouched.
LinePrefix find_stamp(std::string_view text);

// One number of a line with the words before it: "elapsed time per iteration (ms): 2152.2".
struct LogToken {
  std::string key;           // lower case, '_' and '-' as blanks, without brackets at the ends
  std::string_view number;   // "2152.2"
  std::string_view unit;     // letters right behind: "ms", "s/it"; may be empty
  bool after_slash = false;  // the second half of "5/1695"
};
// At most 64 of them.
void read_tokens(std::string_view text, std::vector<LogToken>& out);

// The rank that a file name hints at ("rank3.log", "log_rank_3.txt", ".../3/stdout.log"), or -1.
int32_t rank_hint(std::string_view path);

// "run0" of "logs/run0.log.gz": the name of a file without folders and extensions.
std::string file_stem(std::string_view path);

// Nanoseconds in one unit of the given name, or 0 when it is none of time.
int64_t time_unit_ns(std::string_view unit);

}  // namespace firstwait
