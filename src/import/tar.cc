#include "import/tar.h"

#include <algorithm>

#include "base/text.h"

namespace firstwait {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kMaxText = 1 << 20;  // of a long name or a pax header
constexpr size_t kMaxName = 4096;     // PATH_MAX
constexpr uint64_t kMaxSize = uint64_t{1} << 50;

std::string_view field(std::string_view block, size_t at, size_t size) {
  const std::string_view f = block.substr(at, size);
  return f.substr(0, std::min(f.find('\0'), f.size()));
}

// Octal, or base-256 when the top bit of the first byte is set. Above kMaxSize when it cannot be a
// size.
uint64_t number(std::string_view block, size_t at, size_t size) {
  const std::string_view f = block.substr(at, size);
  uint64_t value = 0;
  if (static_cast<unsigned char>(f[0]) & 0x80U) {
    for (size_t i = 0; i < f.size(); ++i) {
      const auto byte = static_cast<unsigned char>(f[i]);
      value = (value << 8U) | (i == 0 ? byte & 0x7fU : byte);
      if (value > kMaxSize) return kMaxSize + 1;
    }
    return value;
  }
  for (const char c : trim(field(block, at, size))) {
    if (c < '0' || c > '7') return kMaxSize + 1;
    value = value * 8 + static_cast<uint64_t>(c - '0');
    if (value > kMaxSize) return kMaxSize + 1;
  }
  return value;
}

bool checksum_holds(std::string_view block) {
  uint64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(block[i]);
  return !trim(field(block, 148, 8)).empty() && number(block, 148, 8) == sum;
}

bool all_zero(std::string_view block) {
  return std::all_of(block.begin(), block.end(), [](char c) { return c == '\0'; });
}

}  // namespace

bool is_tar(std::string_view head) {
  return head.size() >= kBlock && !all_zero(head.substr(0, kBlock)) &&
         checksum_holds(head.substr(0, kBlock));
}

std::string sanitised_member_name(std::string_view name) {
  std::string out;
  for (const auto part : split(name.substr(0, kMaxName), '/')) {
    if (part.empty() || part == "." || part == "..") continue;
    if (!out.empty()) out += '/';
    for (const char c : part) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return out.empty() ? "unnamed" : out;
}

bool TarReader::fail(std::string why) {
  if (part_ == Part::file) sink_.end(false);
  part_ = Part::ended;
  damage_ = std::move(why);
  return false;
}

void TarReader::header() {
  const std::string_view block = block_;
  if (all_zero(block)) {
    part_ = Part::ended;
    return;
  }
  if (!checksum_holds(block)) {
    fail("a tar header's checksum is wrong");
    return;
  }
  const char type = block[156];
  left_ = number(block, 124, 12);
  const bool is_file = type == '0' || type == '\0' || type == '7';
  if (is_file && pax_size_ >= 0) left_ = static_cast<uint64_t>(pax_size_);
  if (left_ > kMaxSize) {
    fail("a tar member's size is not credible");
    return;
  }
  padding_ = (kBlock - left_ % kBlock) % kBlock;
  text_.clear();
  if (type == 'L' || type == 'x') {
    if (left_ > kMaxText) {
      fail("a tar member's name is too long");
      return;
    }
    part_ = type == 'L' ? Part::name : Part::extended;
    return;
  }
  if (is_file) {
    std::string name = pax_name_.empty() ? long_name_ : pax_name_;
    if (name.empty()) {
      name = field(block, 0, 100);
      const std::string_view prefix = field(block, 345, 155);
      if (block.substr(257, 6) == std::string_view("ustar\0", 6) && !prefix.empty())
        name = std::string(prefix) + "/" + name;
    }
    if (type == '\0' && name.ends_with('/')) {  // an old way to write a directory
      part_ = Part::skip;
    } else {
      part_ = Part::file;
      sink_.begin(sanitised_member_name(name));
    }
  } else {
    if (type == '1' || type == '2') ++skipped_links_;
    part_ = Part::skip;
  }
  if (type != 'g') {
    long_name_.clear();
    pax_name_.clear();
    pax_size_ = -1;
  }
}

void TarReader::extended_records() {
  std::string_view rest = text_;
  while (!rest.empty()) {
    const size_t blank = rest.find(' ');
    const auto length = parse_int(rest.substr(0, blank));
    if (blank == std::string_view::npos || !length || *length <= static_cast<int64_t>(blank) + 1 ||
        static_cast<uint64_t>(*length) > rest.size())
      return;
    const std::string_view record =
        rest.substr(blank + 1, static_cast<size_t>(*length) - blank - 2);
    rest.remove_prefix(static_cast<size_t>(*length));
    if (record.starts_with("path=")) pax_name_ = record.substr(5);
    if (record.starts_with("size="))
      pax_size_ = std::max<int64_t>(-1, parse_int(record.substr(5)).value_or(-1));
  }
}

void TarReader::body_done() {
  if (part_ == Part::file) sink_.end(true);
  if (part_ == Part::name) long_name_ = text_.substr(0, std::min(text_.find('\0'), text_.size()));
  if (part_ == Part::extended) extended_records();
  part_ = Part::skip;  // the padding
  left_ = padding_;
  padding_ = 0;
}

bool TarReader::feed(std::string_view chunk) {
  while (!chunk.empty() && part_ != Part::ended) {
    if (part_ == Part::header) {
      const size_t take = std::min(kBlock - block_.size(), chunk.size());
      block_.append(chunk.substr(0, take));
      chunk.remove_prefix(take);
      if (block_.size() < kBlock) return true;
      header();
      block_.clear();
    } else {
      const size_t take = static_cast<size_t>(std::min<uint64_t>(left_, chunk.size()));
      if (take > 0 && part_ == Part::file) sink_.data(chunk.substr(0, take));
      if (part_ == Part::name || part_ == Part::extended) text_.append(chunk.substr(0, take));
      chunk.remove_prefix(take);
      left_ -= take;
    }
    while (part_ != Part::header && part_ != Part::ended && left_ == 0) {
      if (part_ == Part::skip && padding_ == 0) {
        part_ = Part::header;
      } else {
        body_done();
      }
    }
  }
  return part_ != Part::ended;
}

std::string TarReader::finish() {
  if (!damage_.empty()) return damage_;
  if (part_ != Part::ended && (part_ != Part::header || !block_.empty()))
    fail("the tar archive ends early");
  return damage_;
}

}  // namespace firstwait
