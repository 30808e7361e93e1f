// A file of a bundle that grows by whole lines while a job runs, within bounds, also on a full
// disk.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace firstwait {

// steps.jsonl becomes steps-before.jsonl when it holds half of `most_bytes`, and what was that
// goes: the newest half at least is kept. Lines that the disk has no room for are lost as a whole;
// the file goes on when there is room again.
class LineFile {
 public:
  // `head`: what each file begins with, such as the type of its metrics. 0: no bound.
  explicit LineFile(std::string path, uint64_t most_bytes = 0, std::string head = {});
  ~LineFile();
  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&&) = delete;

  void append(std::string_view line);
  // To the disk. False: lines were lost; errno says why.
  bool flush();

  const std::string& path() const { return path_; }
  uint64_t lost() const { return lost_; }        // found no room on the disk
  uint64_t dropped() const { return dropped_; }  // made room for newer ones

 private:
  void rotate();
  bool write_pending();

  std::string path_, head_, pending_;
  uint64_t most_bytes_;
  int file_ = -1;
  uint64_t size_ = 0, lines_ = 0, pending_lines_ = 0, lines_before_ = 0;
  uint64_t lost_ = 0, dropped_ = 0;
  bool failed_ = false;
  int reason_ = 0;
};

}  // namespace firstwait
