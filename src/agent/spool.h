// What waits to be delivered, in order, on disk: bounded, checked, and whole after the process was
// killed at any moment.
//
// One file a message, "SEQUENCE.msg": a header with kind, length and CRC of the body. A file is
// written beside and renamed, so that it is there as a whole or not at all; it is removed once the
// receiver has acknowledged it.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/result.h"

namespace firstwait {

struct SpoolMessage {
  uint64_t sequence = 0;
  std::string kind;  // "metrics", "logs": at most 15 characters
  std::string body;
};

struct SpoolCounts {
  uint64_t dropped_full = 0;     // messages given up because the bound or the disk was reached
  uint64_t dropped_damaged = 0;  // messages whose file was not what was written
  uint64_t waiting = 0, bytes = 0;
};

class Spool {
 public:
  // An empty directory name keeps messages in memory alone.
  static Result<Spool> open(const std::string& directory, size_t max_bytes);

  // Takes a message; the oldest ones go when the bound is reached. When the disk takes nothing
  // more, the message is kept in memory, within the same bound.
  void put(std::string kind, std::string body);
  // The oldest message; it stays until it is removed. Damaged ones are counted and passed over.
  std::optional<SpoolMessage> front();
  void remove(uint64_t sequence);
  const SpoolCounts& counts() const { return counts_; }

 private:
  struct Entry {
    uint64_t sequence;
    size_t bytes;
    std::string kind;
    std::optional<std::string> body;  // nothing: on disk
  };
  std::string path(uint64_t sequence) const;
  bool write(const Entry& entry, const std::string& body) const;
  void drop_oldest();
  void forget(size_t at);

  std::string directory_;
  size_t max_bytes_ = 0;
  uint64_t next_ = 1;
  std::deque<Entry> entries_;
  SpoolCounts counts_;
};

uint32_t crc32(std::string_view data);

}  // namespace firstwait
