#include "records.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

namespace lab {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kBlock = 4096;

// A slot holds the compressed size and the compressed bytes, in whole blocks.
int64_t slot_bytes(const Params& p) {
  const auto most = static_cast<int64_t>(ZSTD_compressBound(static_cast<size_t>(p.record_bytes)));
  return (most + 8 + kBlock - 1) / kBlock * kBlock;
}

std::string large_file(const Params& p) { return p.data + "/records.bin"; }
std::string small_file(const Params& p, int64_t i) {
  return p.data + "/" + std::to_string(i % 64) + "/" + std::to_string(i) + ".rec";
}

// Half of it random, so that a record compresses about as an image's raw pixels do.
std::vector<uint8_t> make_slot(const Params& p, std::mt19937_64& random) {
  std::vector<uint8_t> raw(static_cast<size_t>(p.record_bytes));
  for (size_t i = 0; i + 8 <= raw.size(); i += 8) {
    uint64_t v = random();
    if ((i / 64) % 2 == 1) v &= 0x0101010101010101;
    std::memcpy(raw.data() + i, &v, 8);
  }
  std::vector<uint8_t> slot(static_cast<size_t>(slot_bytes(p)));
  const auto size = static_cast<uint64_t>(
      ZSTD_compress(slot.data() + 8, slot.size() - 8, raw.data(), raw.size(), 1));
  std::memcpy(slot.data(), &size, 8);
  if (p.layout == "files") slot.resize((size + 8 + kBlock - 1) / kBlock * kBlock);
  return slot;
}

bool write_all(int fd, const uint8_t* data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = ::write(fd, data + done, bytes - done);
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

bool make_records(const Params& p) {
  std::error_code error;
  fs::create_directories(p.data, error);
  const std::string shape =
      p.layout + " " + std::to_string(p.records) + " " + std::to_string(p.record_bytes);
  std::string made;
  if (std::ifstream file(p.data + "/shape"); std::getline(file, made) && made == shape) return true;
  std::mt19937_64 random(7);
  // A few different records, repeated: making them is not what takes the time then.
  std::vector<std::vector<uint8_t>> slots;
  for (int i = 0; i < 16; ++i) slots.push_back(make_slot(p, random));
  const bool one = p.layout == "file";
  if (!one)
    for (int i = 0; i < 64; ++i) fs::create_directories(p.data + "/" + std::to_string(i), error);
  int fd = -1;
  for (int64_t i = 0; i < p.records; ++i) {
    if (!one || i == 0)
      fd = ::open((one ? large_file(p) : small_file(p, i)).c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                  0644);
    const auto& slot = slots[static_cast<size_t>(i) % slots.size()];
    if (fd < 0 || !write_all(fd, slot.data(), slot.size())) return false;
    if (!one || i + 1 == p.records) {
      if (one) ::fsync(fd);
      // Pages belong to the control group that reads them first: that shall be the job's.
      if (one && p.mapped) ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
      ::close(fd);
    }
  }
  if (!one) ::sync();
  std::ofstream(p.data + "/shape") << shape << "\n";
  return true;
}

RecordReader::RecordReader(const Params& p) : p_(p), slot_bytes_(slot_bytes(p)) {
  buffer_ = static_cast<uint8_t*>(std::aligned_alloc(kBlock, static_cast<size_t>(slot_bytes_)));
  if (p.layout != "file") return;
  file_ = ::open(large_file(p).c_str(), O_RDONLY | (p.direct ? O_DIRECT : 0));
  if (file_ < 0) std::fprintf(stderr, "lab-job: %s: %s\n", large_file(p).c_str(), strerror(errno));
  if (file_ >= 0) ::posix_fadvise(file_, 0, 0, POSIX_FADV_RANDOM);  // as a shuffled epoch reads
  if (!p.mapped || file_ < 0) return;
  void* at = ::mmap(nullptr, static_cast<size_t>(slot_bytes_ * p.records), PROT_READ, MAP_SHARED,
                    file_, 0);
  if (at != MAP_FAILED) map_ = static_cast<uint8_t*>(at);
  if (map_) ::madvise(map_, static_cast<size_t>(slot_bytes_ * p.records), MADV_RANDOM);
}

RecordReader::~RecordReader() {
  std::free(buffer_);
  if (file_ >= 0) ::close(file_);
}

bool RecordReader::read_file(const std::string& path, bool drop) {
  const int fd = ::open(path.c_str(), O_RDONLY | (p_.direct ? O_DIRECT : 0));
  struct stat s {};
  if (fd < 0 || ::fstat(fd, &s) != 0) return false;
  const ssize_t n = ::read(fd, buffer_, static_cast<size_t>(slot_bytes_));
  if (drop) ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
  return n > 8;
}

bool RecordReader::read(int64_t i, bool drop) {
  i %= p_.records;
  record_ = buffer_;
  if (p_.layout != "file") return read_file(small_file(p_, i), drop);
  if (map_ != nullptr) {
    record_ = map_ + i * slot_bytes_;
    return true;
  }
  // Buffered reads take what the record needs; direct ones whole slots.
  const ssize_t n = ::pread(file_, buffer_, static_cast<size_t>(slot_bytes_), i * slot_bytes_);
  if (drop) ::posix_fadvise(file_, i * slot_bytes_, slot_bytes_, POSIX_FADV_DONTNEED);
  return n > 8;
}

bool RecordReader::unpack(std::vector<uint8_t>& out) {
  uint64_t size = 0;
  std::memcpy(&size, record_, 8);
  if (size > static_cast<uint64_t>(slot_bytes_) - 8) return false;
  const size_t before = out.size();
  out.resize(before + static_cast<size_t>(p_.record_bytes));
  const size_t n =
      ZSTD_decompress(out.data() + before, static_cast<size_t>(p_.record_bytes), record_ + 8, size);
  return ZSTD_isError(n) == 0;
}

}  // namespace lab
