#include "import/byte_source.h"

#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace firstwait {
namespace {

// Blocks small enough that what one thread wrote is still in a cache when the other reads it.
constexpr size_t kBlock = 256 << 10;
constexpr size_t kBlocks = 8;
constexpr size_t kInput = 128 << 10;

class Input {
 public:
  virtual ~Input() = default;
  // Bytes read; 0 at the end; -1 on error, with errno set.
  virtual ssize_t read(char* to, size_t n) = 0;
};

class FileInput final : public Input {
 public:
  // Opened without blocking: a named pipe that nobody writes to would block for ever.
  explicit FileInput(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (fd_ < 0) return;
    ::posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
    struct stat status {};
    pipe_ = ::fstat(fd_, &status) == 0 && S_ISFIFO(status.st_mode);
    ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) & ~O_NONBLOCK);
  }
  ~FileInput() override {
    if (fd_ >= 0) ::close(fd_);
  }
  FileInput(const FileInput&) = delete;
  FileInput& operator=(const FileInput&) = delete;
  bool ok() const { return fd_ >= 0; }
  // False when it is a pipe that gives neither data nor an end within the limit.
  bool gives_data() const {
    pollfd waiting{fd_, POLLIN, 0};
    return !pipe_ || ::poll(&waiting, 1, kPipeLimitMs) != 0;
  }
  ssize_t read(char* to, size_t n) override {
    for (;;) {
      const ssize_t got = ::read(fd_, to, n);
      if (got >= 0 || errno != EINTR) return got;
    }
  }

 private:
  static constexpr int kPipeLimitMs = 10'000;
  int fd_;
  bool pipe_ = false;
};

class MemoryInput final : public Input {
 public:
  explicit MemoryInput(std::string_view data) : data_(data) {}
  ssize_t read(char* to, size_t n) override {
    n = std::min(n, data_.size());
    std::copy_n(data_.data(), n, to);
    data_.remove_prefix(n);
    return static_cast<ssize_t>(n);
  }

 private:
  std::string_view data_;
};

// Where decoded bytes go: the writer fills block() and commits it.
class Output {
 public:
  virtual ~Output() = default;
  virtual char* block() = 0;  // kBlock bytes
  // Hands over the first n bytes of block(); false: nobody wants more.
  virtual bool commit(size_t n) = 0;
};

class DirectOutput final : public Output {
 public:
  DirectOutput(const ChunkFunction& chunk, uint64_t& bytes)
      : chunk_(chunk), bytes_(bytes), block_(kBlock) {}
  char* block() override { return block_.data(); }
  bool commit(size_t n) override {
    bytes_ += n;
    return n == 0 || chunk_({block_.data(), n});
  }

 private:
  const ChunkFunction& chunk_;
  uint64_t& bytes_;
  std::vector<char> block_;
};

// A ring of reused blocks between one writer thread and one reader thread.
class Ring final : public Output {
 public:
  Ring() : blocks_(kBlocks) {
    for (auto& b : blocks_) b.data = std::make_unique<char[]>(kBlock);
  }
  // Writer.
  char* block() override { return blocks_[written_ % kBlocks].data.get(); }
  bool commit(size_t n) override {
    if (n == 0) return !stopped();
    std::unique_lock lock(mutex_);
    blocks_[written_ % kBlocks].size = n;
    ++written_;
    filled_.notify_one();
    // The next block must be free before the writer touches it.
    freed_.wait(lock, [&] { return stop_ || written_ - read_ < kBlocks; });
    return !stop_;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    filled_.notify_one();
  }
  // Reader. The next block, or an empty view at the end; the block before it is freed.
  std::string_view next() {
    std::unique_lock lock(mutex_);
    if (holding_) {
      ++read_;
      holding_ = false;
      freed_.notify_one();
    }
    filled_.wait(lock, [&] { return ended_ || read_ < written_; });
    if (read_ == written_) return {};
    holding_ = true;
    const Block& b = blocks_[read_ % kBlocks];
    return {b.data.get(), b.size};
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    freed_.notify_one();
  }

 private:
  struct Block {
    std::unique_ptr<char[]> data;
    size_t size = 0;
  };
  bool stopped() {
    const std::lock_guard lock(mutex_);
    return stop_;
  }
  std::vector<Block> blocks_;
  std::mutex mutex_;
  std::condition_variable filled_, freed_;
  uint64_t written_ = 0,
           read_ = 0;  // blocks so far; written_ changes only under the mutex, in the writer
  bool holding_ = false, ended_ = false, stop_ = false;
};

// The undecoded input: a buffer and what remains behind it.
struct RawInput {
  Input& input;
  std::vector<char> buffer;
  ssize_t got = 0;  // bytes in the buffer; 0 at the end; -1 on error
  bool refill() {
    got = input.read(buffer.data(), buffer.size());
    return got > 0;
  }
  bool starts_with(std::string_view magic) const {
    return got >= static_cast<ssize_t>(magic.size()) &&
           std::memcmp(buffer.data(), magic.data(), magic.size()) == 0;
  }
};

constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

void damaged(ByteCount& count, std::string why) {
  count.complete = false;
  count.damage = std::move(why);
}

class GzipDecoder {
 public:
  GzipDecoder(RawInput& source, Output& output, ByteCount& count)
      : source_(source), output_(output), count_(count), state_(std::make_unique<inflate_state>()) {
    start_member();
  }
  void run() {
    do {
      state_->next_in = reinterpret_cast<uint8_t*>(source_.buffer.data());
      state_->avail_in = static_cast<uint32_t>(source_.got);
      if (!consume()) return;
    } while (source_.refill());
    if (!flush()) return;
    if (!between_members_)
      damaged(count_, source_.got < 0 ? std::strerror(errno) : "gzip data ends early");
  }

 private:
  void start_member() {
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP;
    between_members_ = false;
  }
  bool flush() {
    const size_t n = filled_;
    filled_ = 0;
    return output_.commit(n);
  }
  // Inflates all of the input at hand; false: stop reading.
  bool consume() {
    for (;;) {
      if (between_members_ && !next_member()) return state_->avail_in == 0;
      if (between_members_) return true;
      const size_t room = kBlock - filled_;
      state_->next_out = reinterpret_cast<uint8_t*>(output_.block()) + filled_;
      state_->avail_out = static_cast<uint32_t>(room);
      const uint32_t before = state_->avail_in;
      const int rc = isal_inflate(state_.get());
      filled_ += room - state_->avail_out;
      const bool full = state_->avail_out == 0;
      if (full && !flush()) return false;
      if (rc != ISAL_DECOMP_OK) {
        flush();
        damaged(count_, rc == ISAL_INCORRECT_CHECKSUM ? "the gzip checksum does not match"
                                                      : "damaged gzip data");
        return false;
      }
      if (state_->block_state == ISAL_BLOCK_FINISH) {
        between_members_ = true;
        continue;
      }
      if (full) continue;
      if (state_->avail_in == 0) return true;
      if (state_->avail_in == before &&
          room == state_->avail_out) {  // no progress: cannot happen with sound input
        flush();
        damaged(count_, "damaged gzip data");
        return false;
      }
    }
  }
  // Behind a member: zero padding is skipped, another member is begun, anything else is ignored as
  // gzip does. False: nothing more to inflate here.
  bool next_member() {
    while (state_->avail_in > 0 && *state_->next_in == 0) {
      ++state_->next_in;
      --state_->avail_in;
    }
    if (state_->avail_in == 0) return true;
    if (*state_->next_in != 0x1f || (state_->avail_in > 1 && state_->next_in[1] != 0x8b)) {
      flush();
      count_.damage = "bytes behind the gzip data were ignored";
      return false;
    }
    uint8_t* const at = state_->next_in;
    const uint32_t left = state_->avail_in;
    start_member();
    state_->next_in = at;
    state_->avail_in = left;
    return true;
  }

  RawInput& source_;
  Output& output_;
  ByteCount& count_;
  std::unique_ptr<inflate_state> state_;  // 80 KiB: too much for a thread's stack
  size_t filled_ = 0;
  bool between_members_ = false;
};

void decode_zstd(RawInput& source, Output& output, ByteCount& count) {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                        &ZSTD_freeDStream);
  if (!stream) return damaged(count, "not enough memory for zstd");
  size_t left = 1, filled = 0;
  do {
    ZSTD_inBuffer in{source.buffer.data(), static_cast<size_t>(source.got), 0};
    bool full = false;
    while (in.pos < in.size || full) {
      ZSTD_outBuffer out{output.block(), kBlock, filled};
      left = ZSTD_decompressStream(stream.get(), &out, &in);
      filled = out.pos;
      if (ZSTD_isError(left)) {
        output.commit(filled);
        return damaged(count, std::string("damaged zstd data: ") + ZSTD_getErrorName(left));
      }
      full = filled == kBlock && left != 0;  // more may lie inside the decoder
      if (filled == kBlock) {
        filled = 0;
        if (!output.commit(kBlock)) return;
      }
    }
  } while (source.refill());
  if (!output.commit(filled)) return;
  if (left != 0) damaged(count, source.got < 0 ? std::strerror(errno) : "zstd data ends early");
}

void decode_plain(RawInput& source, Output& output, ByteCount& count) {
  size_t filled = static_cast<size_t>(source.got);
  std::copy_n(source.buffer.data(), filled, output.block());
  for (;;) {
    const ssize_t got = source.input.read(output.block() + filled, kBlock - filled);
    if (got < 0) damaged(count, std::strerror(errno));
    if (got <= 0) break;
    filled += static_cast<size_t>(got);
    if (filled < kBlock) continue;
    filled = 0;
    if (!output.commit(kBlock)) return;
  }
  output.commit(filled);
}

void decode(RawInput& source, Output& output, ByteCount& count) {
  if (source.starts_with(kGzipMagic)) {
    GzipDecoder(source, output, count).run();
  } else if (source.starts_with(kZstdMagic)) {
    decode_zstd(source, output, count);
  } else {
    decode_plain(source, output, count);
  }
}

// Stops and joins the writer however the reader leaves.
class Writer {
 public:
  Writer(RawInput& source, Ring& ring, ByteCount& count)
      : ring_(ring), thread_([&source, &ring, &count] {
          try {
            decode(source, ring, count);
          } catch (const std::exception& e) {
            damaged(count, e.what());
          }
          ring.end();
        }) {}
  ~Writer() {
    ring_.stop();
    thread_.join();
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

 private:
  Ring& ring_;
  std::thread thread_;
};

ByteCount pump(RawInput& source, const ChunkFunction& chunk) {
  ByteCount count;
  const auto directly = [&] {
    DirectOutput output(chunk, count.bytes);
    decode(source, output, count);
  };
  // A whole small file is decoded sooner than a thread starts.
  if (source.got < static_cast<ssize_t>(source.buffer.size())) {
    directly();
    return count;
  }
  uint64_t bytes = 0;
  std::unique_ptr<Ring> ring;
  std::unique_ptr<Writer> writer;
  try {
    ring = std::make_unique<Ring>();
    writer = std::make_unique<Writer>(source, *ring, count);
  } catch (const std::system_error&) {  // no more threads
    directly();
    return count;
  }
  for (std::string_view block = ring->next(); !block.empty(); block = ring->next()) {
    bytes += block.size();
    if (!chunk(block)) break;
  }
  writer.reset();
  count.bytes = bytes;
  return count;
}

}  // namespace

Result<ByteCount> read_bytes(const std::string& path, const ChunkFunction& chunk) {
  FileInput file(path);
  if (!file.ok()) return Error{std::strerror(errno), path, "check the path and its permissions"};
  if (!file.gives_data())
    return Error{"the pipe gave nothing for 10 s", path, "write the data to a file and name that"};
  RawInput source{file, std::vector<char>(kInput)};
  source.refill();
  if (source.got < 0)
    return Error{std::strerror(errno), path, "name a file, not a device or directory"};
  return pump(source, chunk);
}

ByteCount read_bytes_from_memory(std::string_view data, const ChunkFunction& chunk) {
  MemoryInput memory(data);
  RawInput source{memory, std::vector<char>(kInput)};
  source.refill();
  return pump(source, chunk);
}

}  // namespace firstwait
