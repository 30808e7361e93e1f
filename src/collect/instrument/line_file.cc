#include "collect/instrument/line_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace firstwait {
namespace {

constexpr size_t kMostPending = 1 << 20;

// "out/steps.jsonl" -> "out/steps-before.jsonl"
std::string name_before(const std::string& path) {
  const size_t dot = path.rfind('.');
  return path.substr(0, dot) + "-before" + path.substr(dot);
}

}  // namespace

LineFile::LineFile(std::string path, uint64_t most_bytes, std::string head)
    : path_(std::move(path)), head_(std::move(head)), most_bytes_(most_bytes) {}

LineFile::LineFile(LineFile&& other) noexcept
    : path_(std::move(other.path_)),
      head_(std::move(other.head_)),
      pending_(std::move(other.pending_)),
      most_bytes_(other.most_bytes_),
      file_(std::exchange(other.file_, -1)),
      size_(other.size_),
      lines_(other.lines_),
      pending_lines_(std::exchange(other.pending_lines_, 0)),
      lines_before_(other.lines_before_),
      lost_(other.lost_),
      dropped_(other.dropped_),
      failed_(other.failed_),
      reason_(other.reason_) {}

LineFile::~LineFile() {
  flush();
  if (file_ >= 0) ::close(file_);
}

void LineFile::append(std::string_view line) {
  if (most_bytes_ > 0 && size_ + pending_.size() + line.size() > most_bytes_ / 2) {
    write_pending();
    rotate();
  }
  pending_ += line;
  ++pending_lines_;
  if (pending_.size() >= kMostPending) write_pending();
}

bool LineFile::flush() {
  write_pending();
  errno = reason_;
  return !std::exchange(failed_, false);
}

void LineFile::rotate() {
  if (size_ == 0) return;
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  if (std::rename(path_.c_str(), name_before(path_).c_str()) != 0) {
    failed_ = true;
    reason_ = errno;
  }
  dropped_ += lines_before_;
  lines_before_ = lines_;
  size_ = lines_ = 0;
}

// All of it, or nothing: half a line would spoil the one that comes after it.
bool LineFile::write_pending() {
  if (pending_lines_ == 0) return true;
  bool good = true;
  if (file_ < 0) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    good = file_ >= 0;
  }
  if (size_ == 0) pending_.insert(0, head_);
  size_t done = 0;
  while (good && done < pending_.size()) {
    const ssize_t n = ::pwrite(file_, pending_.data() + done, pending_.size() - done,
                               static_cast<off_t>(size_ + done));
    if (n > 0)
      done += static_cast<size_t>(n);
    else if (n == 0 || errno != EINTR)
      good = false;
  }
  if (good) {
    size_ += pending_.size();
    lines_ += pending_lines_;
  } else {
    failed_ = true;
    reason_ = errno;
    lost_ += pending_lines_;
    if (file_ >= 0 && ::ftruncate(file_, static_cast<off_t>(size_)) != 0) reason_ = errno;
  }
  pending_.clear();
  pending_lines_ = 0;
  return good;
}

}  // namespace firstwait
