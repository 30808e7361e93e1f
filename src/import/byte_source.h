// Reads a file in chunks, decompressing gzip (igzip) and zstd by their magic numbers.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace firstwait {

// How the reason ends when data is cut, but right as far as it goes.
inline constexpr std::string_view kEndsEarly = "ends early";

struct ByteCount {
  uint64_t bytes = 0;    // after decompression
  bool complete = true;  // false: the archive was damaged or cut; what came before was delivered
  std::string damage;  // why, when not complete; with `complete`, what was ignored behind the data
};

using ChunkFunction = std::function<bool(std::string_view)>;

// Calls `chunk` on the calling thread with the decompressed bytes in order, until it returns false.
// Reading and inflating run ahead of it on a second thread by a few blocks of memory, except for
// small inputs. A chunk's bytes are valid only during the call. An error is returned only when
// nothing could be opened.
Result<ByteCount> read_bytes(const std::string& path, const ChunkFunction& chunk);

// The same for bytes in memory, which may be compressed too.
ByteCount read_bytes_from_memory(std::string_view data, const ChunkFunction& chunk);

}  // namespace firstwait
