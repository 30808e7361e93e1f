// Decompression of data that arrives in chunks, by its magic number; plain data passes through
// unchanged.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace firstwait {

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
  struct State;
  bool start();
  bool pass(std::string_view chunk);
  std::unique_ptr<State> state_;
};

}  // namespace firstwait
