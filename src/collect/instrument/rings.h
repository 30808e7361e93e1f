// Reads the rings of instrumented processes (emit/FORMAT.md). The writer may be killed at any
// moment, may overtake the reader, and is not trusted: a ring is a file that anyone with the same
// user id could have written.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/phase.h"

namespace firstwait {

enum class ProcessRole : uint8_t { other, trainer, loader };

struct RingIdentity {
  int32_t pid = 0, parent = 0;
  int32_t rank = -1, world_size = -1, local_rank = -1;
  ProcessRole role = ProcessRole::other;
  std::string host;
};

enum class RingKind : uint8_t { span = 1, begin = 2, counter = 3, step = 4 };

// Times are nanoseconds since the Unix epoch.
struct RingRecord {
  RingKind kind = RingKind::span;
  uint8_t phase = 0;  // of emit.h: a Phase, or 16 + a LoaderWork
  uint8_t lane = 0;   // of emit.h
  uint32_t thread = 0, name = 0, group = 0;
  Ns start = 0, end = 0;
  int64_t seq = -1;    // of a step its number
  int64_t value = -1;  // bytes; of a step its samples; of a counter the bits of a double
};

struct RingSetting {
  std::string key, value;
  Ns time = 0;
};

// The monotonic clock and the wall clock, read at one moment.
struct ClockPair {
  Ns monotonic = 0, epoch = 0;
  static ClockPair now();
  Ns to_epoch() const { return epoch - monotonic; }
};

class RingReader {
 public:
  // An error when the file is no ring, or one that contradicts itself.
  // `clock`: what this machine's clocks said once. It is used for all rings alike, so that their
  // times compare also when the wall clock was set in between, but not for a container that counts
  // its monotonic clock from elsewhere: there the ring's own holds.
  static Result<RingReader> open(const std::string& path, std::optional<ClockPair> clock = {});
  RingReader(RingReader&& other) noexcept;
  RingReader& operator=(RingReader&&) = delete;
  ~RingReader();

  // Appends what was written since the last poll, oldest first. A record in the middle of being
  // written is left for the next poll; when the writer is gone, or does not finish it within a
  // second of `now` (any steady clock), it is counted torn.
  void poll(Ns now, bool writer_gone, std::vector<RingRecord>& records,
            std::vector<RingSetting>& settings);

  const RingIdentity& identity() const { return identity_; }
  // The name of a record or of its group; empty when the ring does not hold it. Valid until the
  // next poll.
  std::string_view name(uint32_t id) const;
  Ns at(Ns monotonic) const;
  uint64_t lost() const { return lost_; }  // overwritten before they were read
  uint64_t torn() const { return torn_; }  // begun and never finished

 private:
  RingReader() = default;
  void read_identity();
  void read_strings(std::vector<RingSetting>& settings);
  bool take(uint64_t index, const uint64_t* words, uint64_t head, std::vector<RingRecord>& records);

  int file_ = -1;
  uint64_t capacity_ = 0, strings_offset_ = 0, strings_bytes_ = 0, strings_read_ = 0;
  Ns to_epoch_ = 0;
  uint64_t cursor_ = 0, lost_ = 0, torn_ = 0;
  Ns waiting_since_ = 0;
  uint64_t waiting_for_ = UINT64_MAX;
  RingIdentity identity_;
  std::unordered_map<uint32_t, std::string> names_;
};

}  // namespace firstwait
