// The data set: compressed records in one large file or in many small ones.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "params.h"

namespace lab {

// Makes the data set unless a whole one of this shape is there.
bool make_records(const Params& p);

// One reader per process. Reads are real: with `direct` past the page cache, so that a limit on the
// disk or a slow mount is felt at every record.
class RecordReader {
 public:
  explicit RecordReader(const Params& p);
  ~RecordReader();
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  // The compressed bytes of record `i`; false when it could not be read. `drop`: the page cache
  // keeps nothing of it.
  bool read(int64_t i, bool drop);
  // Unpacks what was read to the end of `out`.
  bool unpack(std::vector<uint8_t>& out);

 private:
  bool read_file(const std::string& path, bool drop);
  const Params& p_;
  int file_ = -1;
  uint8_t* buffer_ = nullptr;  // aligned for direct reads
  uint8_t* map_ = nullptr;
  int64_t slot_bytes_;
  const uint8_t* record_ = nullptr;
};

}  // namespace lab
