// What a ceiling of the storage looks like, in bytes or in reads per second.
#pragma once
#include <string>
#include <string_view>

#include "explain/storage_signals.h"

namespace firstwait {

struct ReadCeiling {
  std::string_view limit;         // the setting that tells it, if any
  std::string_view metric, unit;  // of the evidence row
  std::string_view own;           // metric of what the job's processes read; may be empty
  const Reading& (*rate)(const StorageUse&);  // what would be flat
  bool (*applies)(const StorageUse&);         // to reads of this size
  std::string (*text)(double rate);           // for people
  // Whether a disk without a known limit is full; nullptr: cannot be told for this ceiling.
  bool (*full)(const StorageUse&) = nullptr;
};
Verdict test_ceiling(const View& view, const ReadCeiling& ceiling);

}  // namespace firstwait
