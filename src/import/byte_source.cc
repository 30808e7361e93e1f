#include "import/byte_source.h"

#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

namespace firstwait {
namespace {

constexpr size_t kBlock = 1 << 20;

class File {
 public:
  explicit File(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool ok() const { return fd_ >= 0; }
  // Bytes read; 0 at the end; -1 on error.
  ssize_t read(char* to, size_t n) const {
    for (;;) {
      const ssize_t got = ::read(fd_, to, n);
      if (got >= 0 || errno != EINTR) return got;
    }
  }

 private:
  int fd_;
};

}  // namespace

Result<ByteCount> read_bytes(const std::string& path, const std::function<bool(std::string_view)>& chunk) {
  const File file(path);
  if (!file.ok()) return Error{std::strerror(errno), path, "check the path and its permissions"};
  std::vector<char> in(kBlock);
  ssize_t got = file.read(in.data(), in.size());
  if (got < 0) return Error{std::strerror(errno), path, "name a file, not a device or directory"};
  ByteCount count;
  const auto deliver = [&](const char* data, size_t n) {
    count.bytes += n;
    return n == 0 || chunk({data, n});
  };
  const auto is = [&](std::string_view magic) {
    return static_cast<size_t>(got) >= magic.size() && std::memcmp(in.data(), magic.data(), magic.size()) == 0;
  };
  std::vector<char> out(kBlock);
  if (is("\x1f\x8b")) {
    inflate_state state;
    isal_inflate_init(&state);
    state.crc_flag = ISAL_GZIP;
    bool ended = false;
    while (got > 0) {
      state.next_in = reinterpret_cast<uint8_t*>(in.data());
      state.avail_in = static_cast<uint32_t>(got);
      do {
        state.next_out = reinterpret_cast<uint8_t*>(out.data());
        state.avail_out = static_cast<uint32_t>(out.size());
        const int rc = isal_inflate(&state);
        if (!deliver(out.data(), out.size() - state.avail_out)) return count;
        if (rc != ISAL_DECOMP_OK) {
          count.complete = false;
          count.damage = "damaged gzip data";
          return count;
        }
        ended = state.block_state == ISAL_BLOCK_FINISH;
        if (ended) {
          if (state.avail_in == 0) break;
          isal_inflate_reset(&state);  // the next member
          state.crc_flag = ISAL_GZIP;
        }
      } while (state.avail_in > 0 || state.avail_out == 0);
      got = file.read(in.data(), in.size());
    }
    if (!ended) {
      count.complete = false;
      count.damage = "gzip data ends early";
    }
    return count;
  }
  if (is("\x28\xb5\x2f\xfd")) {
    const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(), &ZSTD_freeDStream);
    size_t left = 1;
    while (got > 0) {
      ZSTD_inBuffer input{in.data(), static_cast<size_t>(got), 0};
      bool full = false;
      while (input.pos < input.size || full) {
        ZSTD_outBuffer output{out.data(), out.size(), 0};
        left = ZSTD_decompressStream(stream.get(), &output, &input);
        if (!deliver(out.data(), output.pos)) return count;
        if (ZSTD_isError(left)) {
          count.complete = false;
          count.damage = std::string("damaged zstd data: ") + ZSTD_getErrorName(left);
          return count;
        }
        full = output.pos == output.size;
      }
      got = file.read(in.data(), in.size());
    }
    if (left != 0) {
      count.complete = false;
      count.damage = "zstd data ends early";
    }
    return count;
  }
  while (got > 0) {
    if (!deliver(in.data(), static_cast<size_t>(got))) return count;
    got = file.read(in.data(), in.size());
  }
  if (got < 0) {
    count.complete = false;
    count.damage = std::strerror(errno);
  }
  return count;
}

}  // namespace firstwait
