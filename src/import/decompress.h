// Decompression of data that arrives in chunks, by its magic number.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace firstwait {

// Where decoded bytes go: the writer fills block() and commits it.
class DecodedOutput {
 public:
  static constexpr size_t kBlock = 256 << 10;
  virtual ~DecodedOutput() = default;
  virtual char* block() = 0;  // kBlock bytes
  // Hands over the first n bytes of block(); false: nobody wants more.
  virtual bool commit(size_t n) = 0;
};

class Decoder {
 public:
  struct Ending {
    bool complete = true;
    std::string damage;  // why not; with `complete`, what was ignored behind the data
  };
  virtual ~Decoder() = default;
  // False when nothing more is wanted or the data is damaged.
  virtual bool feed(std::string_view chunk) = 0;
  // The input ended: hands over what is left.
  virtual Ending finish() = 0;
};

// Enough of the data's start to tell what compresses it.
inline constexpr size_t kMagicBytes = 4;

// For gzip (with all its members, also behind zero padding) and zstd; null when `head` is neither.
// `output` must outlive it.
std::unique_ptr<Decoder> decoder_for(std::string_view head, DecodedOutput& output);

// The same with a function for output; plain data passes through unchanged.
class Decompressor {
 public:
  // `out` receives the decompressed bytes in order and returns false when it wants no more.
  using Out = std::function<bool(std::string_view)>;
  explicit Decompressor(Out out);
  ~Decompressor();
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  // False when nothing more is wanted or the data is damaged.
  bool feed(std::string_view chunk);
  // The input ended. Empty when all was well, otherwise what is wrong with the data.
  std::string finish();

 private:
  class Blocks;
  bool start();
  Out out_;
  std::string head_;  // until it is decided what the data is
  bool decided_ = false, stopped_ = false;
  std::unique_ptr<Blocks> blocks_;
  std::unique_ptr<Decoder> decoder_;  // null: plain
};

}  // namespace firstwait
