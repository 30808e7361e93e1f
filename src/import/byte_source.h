// Reads a file in chunks, decompressing gzip (igzip) and zstd by their magic numbers.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace firstwait {

struct ByteCount {
  uint64_t bytes = 0;     // after decompression
  bool complete = true;   // false: the archive was damaged or cut; what came before was delivered
  std::string damage;     // why, when not complete
};

// Calls `chunk` with the decompressed bytes in order, until it returns false. Inflating overlaps with `chunk` on a
// second thread. An error is returned only when nothing could be opened.
Result<ByteCount> read_bytes(const std::string& path, const std::function<bool(std::string_view)>& chunk);

}  // namespace firstwait
