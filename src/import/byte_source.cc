#include "import/byte_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "import/decompress.h"

namespace firstwait {
namespace {

// Blocks small enough that what one thread wrote is still in a cache when the other reads it.
constexpr size_t kBlock = DecodedOutput::kBlock;
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

class DirectOutput final : public DecodedOutput {
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
class Ring final : public DecodedOutput {
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
  std::string_view bytes() const { return {buffer.data(), got > 0 ? static_cast<size_t>(got) : 0}; }
};

void damaged(ByteCount& count, std::string why) {
  count.complete = false;
  count.damage = std::move(why);
}

void decode_with(Decoder& decoder, RawInput& source, ByteCount& count) {
  do {
    if (!decoder.feed(source.bytes())) break;
  } while (source.refill());
  const int reason = source.got < 0 ? errno : 0;
  auto ending = decoder.finish();
  count.complete = ending.complete;
  count.damage = std::move(ending.damage);
  if (!count.complete && reason != 0) count.damage = std::strerror(reason);
}

void decode_plain(RawInput& source, DecodedOutput& output, ByteCount& count) {
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

void decode(RawInput& source, DecodedOutput& output, ByteCount& count) {
  if (const auto decoder = decoder_for(source.bytes(), output)) {
    decode_with(*decoder, source, count);
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
