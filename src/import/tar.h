// A small reader for tar archives (ustar, GNU long names, pax paths and sizes), fed in chunks of
// any size.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "model/health.h"

namespace firstwait {

// True when `head` begins with a tar header whose checksum is right.
bool is_tar(std::string_view head);

// A member's path made harmless: no leading slash, no "..", no control characters; never empty.
std::string sanitised_member_name(std::string_view name);

// What the archive holds, in its order. Only regular files are delivered.
class TarSink {
 public:
  virtual ~TarSink() = default;
  virtual void begin(const std::string& name) = 0;
  virtual void data(std::string_view chunk) = 0;
  virtual void end(bool complete) = 0;
};

class TarReader {
 public:
  explicit TarReader(TarSink& sink) : sink_(sink) {}
  // False when the archive has ended or cannot be read further.
  bool feed(std::string_view chunk);
  // Empty when the archive was whole; otherwise what is wrong.
  std::string finish();
  uint64_t skipped_links() const { return skipped_links_; }

 private:
  enum class Part : uint8_t { header, file, name, extended, skip, ended };
  void header();
  void body_done();
  void extended_records();
  bool fail(std::string why);

  TarSink& sink_;
  Part part_ = Part::header;
  std::string block_;  // the header being collected
  std::string text_;   // the body of a long name or pax header
  std::string long_name_, pax_name_;
  int64_t pax_size_ = -1;
  uint64_t left_ = 0;  // bytes of the body still to come
  uint64_t padding_ = 0;
  uint64_t skipped_links_ = 0;
  std::string damage_;
};

}  // namespace firstwait
