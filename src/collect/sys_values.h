// Many files of one integer each, as sysfs has them: found once in a while, read at every sampling.
#pragma once
#include <string>
#include <vector>

#include "collect/collector.h"

namespace firstwait {

class SysValues {
 public:
  // `times`: the raw value is the file's times this.
  void add(std::string path, SeriesId id, int64_t times = 1);
  // Reads all; whether any could be read. What is no number is left out ("N/A", an empty file):
  // sysfs says so by text.
  bool sample(Out& out);
  // The error of the last file that could not be read.
  int error() const { return error_; }
  bool empty() const { return entries_.empty(); }
  // Starts a new search: what is not added again is released by end().
  void begin();
  void end(Out& out);

 private:
  struct Entry {
    File file;
    SeriesId id;
    int64_t times;
  };
  std::vector<Entry> entries_;
  std::vector<Entry> before_;
  int error_ = 0;
};

// True at first and then once in `every`: when to look for devices again.
class Occasionally {
 public:
  explicit Occasionally(Ns every = Ns{60} * 1'000'000'000) : every_(every) {}
  bool due(Ns now) {
    // A clock that was set back makes it due too.
    if (last_ != kNoTime && now >= last_ && now - last_ < every_) return false;
    last_ = now;
    return true;
  }
  void reset() { last_ = kNoTime; }

 private:
  Ns every_;
  Ns last_ = kNoTime;
};

}  // namespace firstwait
